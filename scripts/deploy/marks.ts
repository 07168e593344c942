/** The text with what stands between the two marks of a name made anew. Throws if the marks are not there. */
export function between(text: string, name: string, content: string): string {
  const [opening, closing] = [`<!-- ${name}: generated, "npm run generate" -->`, `<!-- end of ${name} -->`];
  const [begin, end] = [text.indexOf(opening), text.indexOf(closing)];
  if (begin < 0 || end < begin) throw new Error(`the text has no lines ${opening} and ${closing}`);
  return `${text.slice(0, begin + opening.length)}\n\n${content}${text.slice(end)}`;
}
