"""Docs trees and translations of a collection, found in its folder and stored in the catalogue."""
