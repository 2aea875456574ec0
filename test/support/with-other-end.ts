/** Returns the text with another last character: a credential or code that is wrong, but has the right form. */
export const withOtherEnd = (text: string): string => `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`
