package edi

// Route is what a network such as Peppol finds the receiver of a UBL or CII
// document by, as the document says it. What it does not say is empty.
type Route struct {
	Namespace, Root  string // of the root element; a namespace over 512 bytes is cut
	Customization    string // CustomizationID, or the guideline of CII
	Profile          string // ProfileID, or the business process of CII
	Version          string // UBLVersionID
	Sender, Receiver Endpoint
	Country          string // of the sender, ISO 3166-1
}

// Endpoint is an electronic address with the scheme that it is of, such as 0088
// for a GLN.
type Endpoint struct{ Scheme, Value string }

// addresses are where a party's electronic address stands.
var addresses = map[string]bool{"EndpointID": true, "URIUniversalCommunication/URIID": true}

// fromBuyer are the documents that the buyer sends; others come from the seller.
var fromBuyer = map[string]bool{"Order": true, "OrderChange": true, "OrderCancellation": true}

// router finds the Route of a document.
type router struct {
	to      *Route
	side    meaning // whose the captured element is: seller, buyer, or nothing
	address bool    // it is an electronic address
	scheme  string  // its schemeID

	seller, buyer               Endpoint
	sellerCountry, buyerCountry string
}

// take takes the value of a captured element. The first of each kind counts.
func (r *router) take(what meaning, value string) {
	address := Endpoint{r.scheme, value}
	switch {
	case what == customization:
		first(&r.to.Customization, value)
	case what == profile:
		first(&r.to.Profile, value)
	case what == version:
		first(&r.to.Version, value)
	case what == sender:
		first(&r.to.Sender, address)
	case what == receiver:
		first(&r.to.Receiver, address)
	case what == country && r.side == seller:
		first(&r.sellerCountry, value)
	case what == country:
		first(&r.buyerCountry, value)
	case r.address && r.side == seller:
		first(&r.seller, address)
	case r.address:
		first(&r.buyer, address)
	}
}

// settle says who sends, once the document has ended.
func (r *router) settle() {
	if fromBuyer[r.to.Root] {
		first(&r.to.Sender, r.buyer)
		first(&r.to.Receiver, r.seller)
		first(&r.to.Country, r.buyerCountry)
		return
	}
	first(&r.to.Sender, r.seller)
	first(&r.to.Receiver, r.buyer)
	first(&r.to.Country, r.sellerCountry)
}

// first sets what is not set yet.
func first[T comparable](to *T, value T) {
	var unset T
	if *to == unset {
		*to = value
	}
}
