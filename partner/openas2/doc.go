// Package openas2 reads an installation of OpenAS2 (config.xml,
// partnerships.xml and the PKCS #12 keystore) and says which partner files,
// certificates and keys it becomes, and what of it cannot be carried over.
//
// It writes nothing and asks nobody: Read takes the installation apart,
// Translate makes a Plan, and whoever asked for it puts the files into place.
// Input is a user's own file, but still bounded: an installation may come from
// somewhere else.
package openas2
