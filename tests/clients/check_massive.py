"""massive: the chain generator over all pages, filters, and single contracts."""

import native
from massive import RESTClient
from polygon_chain import check_with

if __name__ == "__main__":
    native.main(check_with(RESTClient))
