"""What Linear is asked, as its public schema has it. Text of ours and of tickets is in variables, never in a query.

Linear refuses a query that costs more than 10,000 points: about one for each object that it could return. So a list asks
for a few labels, blockers and comments of each issue, and the rare issue with more of them is asked for by itself.
"""

from __future__ import annotations

from typing import NamedTuple

PAGE = 50
"""Issues of one answer. Linear lists the newest first, so a list is read from its end: what is written meanwhile moves nothing."""


class Depth(NamedTuple):
    """How many labels, relations and comments of one issue."""

    labels: int
    relations: int
    comments: int

    @property
    def variables(self) -> dict[str, object]:
        return self._asdict()


SHALLOW = Depth(20, 10, 10)
DEEP = Depth(100, 100, 100)

_PERSON = "fragment Person on User { id name displayName active guest app }"
_REMARK = """
fragment Remark on Comment {
  id body createdAt
  user { ...Person }
  botActor { name }
  externalUser { name }
}
"""
_TICKET = f"""
fragment Ticket on Issue {{
  id identifier title description url priority estimate updatedAt archivedAt trashed
  state {{ type }}
  creator {{ ...Person }}
  botActor {{ name }}
  externalUserCreator {{ name displayName }}
  labels(first: $labels) {{ nodes {{ name }} pageInfo {{ hasNextPage }} }}
  inverseRelations(first: $relations) {{
    nodes {{ type issue {{ identifier }} }}
    pageInfo {{ hasNextPage }}
  }}
  comments(first: $comments) {{ nodes {{ ...Remark }} pageInfo {{ hasNextPage endCursor }} }}
}}
{_PERSON}
{_REMARK}
"""

TICKETS = f"""
query Tickets(
  $filter: IssueFilter!, $last: Int!, $before: String, $labels: Int!, $relations: Int!, $comments: Int!
) {{
  issues(filter: $filter, last: $last, before: $before) {{
    nodes {{ ...Ticket }}
    pageInfo {{ hasPreviousPage startCursor }}
  }}
}}
{_TICKET}
"""
TICKET = f"""
query Ticket($id: String!, $labels: Int!, $relations: Int!, $comments: Int!) {{
  issue(id: $id) {{ ...Ticket }}
}}
{_TICKET}
"""
REMARKS = f"""
query Remarks($id: String!, $first: Int!, $after: String) {{
  issue(id: $id) {{
    comments(first: $first, after: $after) {{ nodes {{ ...Remark }} pageInfo {{ hasNextPage endCursor }} }}
  }}
}}
{_PERSON}
{_REMARK}
"""
HISTORY = f"""
query History($id: String!, $first: Int!, $after: String) {{
  issue(id: $id) {{
    history(first: $first, after: $after) {{
      nodes {{
        id updatedDescription fromTitle toTitle
        descriptionUpdatedBy {{ ...Person }}
        actor {{ ...Person }}
        botActor {{ name }}
      }}
      pageInfo {{ hasNextPage endCursor }}
    }}
  }}
}}
{_PERSON}
"""
TEAMS = "query Teams($filter: TeamFilter!) { teams(filter: $filter, first: 1) { nodes { id } } }"
PROJECTS = "query Projects($filter: ProjectFilter!) { projects(filter: $filter, first: 1) { nodes { id } } }"
VIEWER = "query Viewer { viewer { id } }"

STANDING = """
query Standing($id: String!) {
  issue(id: $id) {
    id
    state { type }
    team { id }
    labels(first: 100) { nodes { id name } }
  }
}
"""
COMPLETED = """
query Completed($team: String!, $filter: WorkflowStateFilter!) {
  team(id: $team) { states(filter: $filter, first: 50) { nodes { id type position } } }
}
"""
LABELS = """
query Labels($filter: IssueLabelFilter!) {
  issueLabels(filter: $filter, first: 50) { nodes { id name team { id } } }
}
"""

CREATE_LABEL = """
mutation CreateLabel($input: IssueLabelCreateInput!) {
  issueLabelCreate(input: $input) { success issueLabel { id } }
}
"""
ADD_LABEL = """
mutation AddLabel($id: String!, $label: String!) { issueAddLabel(id: $id, labelId: $label) { success } }
"""
REMOVE_LABEL = """
mutation RemoveLabel($id: String!, $label: String!) { issueRemoveLabel(id: $id, labelId: $label) { success } }
"""
SET_STATE = """
mutation SetState($id: String!, $state: String!) {
  issueUpdate(id: $id, input: { stateId: $state }) { success }
}
"""
CREATE_COMMENT = """
mutation CreateComment($input: CommentCreateInput!) { commentCreate(input: $input) { success } }
"""
EDIT_COMMENT = """
mutation EditComment($id: String!, $body: String!) {
  commentUpdate(id: $id, input: { body: $body }) { success }
}
"""
