"""Records to the host: the event ring and its writes into host memory."""
