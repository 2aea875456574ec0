/** Help paragraphs of every command that calls the operator API. */
export const operatorNotes = [
  "The operator's side of a local server. It is called with the operator key, which is found by itself where the server runs.",
]
