"""The worst that gas can buy: cases, and how long they hold a block up."""
