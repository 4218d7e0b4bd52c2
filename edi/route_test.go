package edi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const ublRoot = `<%[1]s xmlns="urn:oasis:names:specification:ubl:schema:xsd:%[1]s-2" xmlns:a="urn:x:a" xmlns:b="urn:x:b">%[2]s</%[1]s>`

func withParty(name, scheme, id, country string) string {
	return fmt.Sprintf(`<a:%s><a:Party><b:EndpointID schemeID="%s">%s</b:EndpointID><a:PostalAddress><a:Country><b:IdentificationCode>%s</b:IdentificationCode></a:Country></a:PostalAddress></a:Party></a:%[1]s>`, name, scheme, id, country)
}

// TestRouteFollowsWhoSends: the seller sends an invoice, the buyer an order; an
// answer names sender and receiver.
func TestRouteFollowsWhoSends(t *testing.T) {
	t.Parallel()
	seller, buyer := Endpoint{"0088", "4012345000009"}, Endpoint{"9930", "de811152493"}
	route := func(root string, from, to Endpoint, country string) *Route {
		return &Route{Namespace: "urn:oasis:names:specification:ubl:schema:xsd:" + root + "-2", Root: root, Sender: from, Receiver: to, Country: country}
	}
	both := withParty("AccountingSupplierParty", "0088", seller.Value, "DE") + withParty("AccountingCustomerParty", "9930", buyer.Value, "AT")
	ordered := withParty("BuyerCustomerParty", "9930", buyer.Value, "AT") + withParty("SellerSupplierParty", "0088", seller.Value, "DE")
	for name, c := range map[string]struct {
		document string
		want     *Route
	}{
		"invoice":        {fmt.Sprintf(ublRoot, "Invoice", both), route("Invoice", seller, buyer, "DE")},
		"order":          {fmt.Sprintf(ublRoot, "Order", ordered), route("Order", buyer, seller, "AT")},
		"order response": {fmt.Sprintf(ublRoot, "OrderResponse", ordered), route("OrderResponse", seller, buyer, "DE")},
		"answer": {fmt.Sprintf(ublRoot, "ApplicationResponse", `<a:SenderParty><b:EndpointID schemeID="9930">de811152493</b:EndpointID></a:SenderParty><a:ReceiverParty><b:EndpointID schemeID='0088'> 4012345000009
</b:EndpointID></a:ReceiverParty>`), route("ApplicationResponse", buyer, seller, "")},
		"no schemes":          {fmt.Sprintf(ublRoot, "Invoice", `<a:AccountingSupplierParty schemeID="no"><a:Party><b:EndpointID>7</b:EndpointID></a:Party></a:AccountingSupplierParty>`), route("Invoice", Endpoint{Value: "7"}, Endpoint{}, "")},
		"too long to be sure": {fmt.Sprintf(ublRoot, "Invoice", "<b:CustomizationID>"+strings.Repeat("u", 600)+"</b:CustomizationID>"), route("Invoice", Endpoint{}, Endpoint{}, "")},
		"the first of two":    {fmt.Sprintf(ublRoot, "Invoice", "<b:ProfileID>1</b:ProfileID><b:ProfileID>2</b:ProfileID>"), func() *Route { r := route("Invoice", Endpoint{}, Endpoint{}, ""); r.Profile = "1"; return r }()},
		"in a wrapper":        {`<s:StandardBusinessDocument xmlns:s="urn:s">` + fmt.Sprintf(ublRoot, "Invoice", both) + `</s:StandardBusinessDocument>`, route("Invoice", seller, buyer, "DE")},
		"other XML":           {`<Invoice/>`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, scan(c.document).Route); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRouteOfCII(t *testing.T) {
	t.Parallel()
	party := func(name, scheme, id string) string {
		return fmt.Sprintf(`<%s><URIUniversalCommunication><URIID schemeID="%s">%s</URIID></URIUniversalCommunication></%[1]s>`, name, scheme, id)
	}
	r := scan(`<CrossIndustryInvoice xmlns="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"><ExchangedDocumentContext><BusinessProcessSpecifiedDocumentContextParameter><ID>urn:p</ID></BusinessProcessSpecifiedDocumentContextParameter><GuidelineSpecifiedDocumentContextParameter><ID>urn:c#x</ID></GuidelineSpecifiedDocumentContextParameter></ExchangedDocumentContext><SupplyChainTradeTransaction><ApplicableHeaderTradeAgreement>` +
		party("SellerTradeParty", "0088", "1") + party("BuyerTradeParty", "0204", "2") + `</ApplicableHeaderTradeAgreement></SupplyChainTradeTransaction></CrossIndustryInvoice>`).Route
	want := &Route{Namespace: "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100", Root: "CrossIndustryInvoice", Customization: "urn:c#x", Profile: "urn:p", Sender: Endpoint{"0088", "1"}, Receiver: Endpoint{"0204", "2"}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
