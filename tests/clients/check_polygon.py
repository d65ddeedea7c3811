"""polygon-api-client: the same client under the vendor's earlier name."""

import native
from polygon import RESTClient
from polygon_chain import check_with

if __name__ == "__main__":
    native.main(check_with(RESTClient))
