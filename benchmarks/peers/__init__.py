"""The same refund on other engines, under the same faults; what the receiver holds afterwards, beside ours."""
