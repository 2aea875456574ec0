/** Help paragraphs of every command that calls the operator API. */
export const operatorNotes = [
  "The operator's side of a local server. It needs the operator key, which the command line finds on the machine of the server.",
]
