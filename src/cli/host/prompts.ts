/** By name, so that the bundle holds these and not the editor, which is four times as large as all of them. */
export { checkbox, confirm, input, password, select } from '@inquirer/prompts'
