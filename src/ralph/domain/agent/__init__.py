"""What an agent is to ralph: the facts about its program, what it says in a session, and what that costs."""
