/** What the help of every command of the operator's side says. */
export const operatorNotes = [
  "The operator's side of a local server. It is called with the operator key, which is found by itself where the server runs.",
]
