"""The docs trees and translations of a collection: found in its folder, stored in the catalogue."""
