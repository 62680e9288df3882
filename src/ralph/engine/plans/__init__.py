"""Work on a plan: offering stories, auditing what a session did to the plan, proving approvals."""
