"""Any agent that speaks the Agent Client Protocol (ACP): one adapter for all of them."""
