/** Decodes `%41` and `+` in a key written as a form field; undefined if the encoding is malformed. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
