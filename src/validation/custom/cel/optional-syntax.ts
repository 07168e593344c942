/** The methods that `a.?b` and `a[?b]` become, because the parser does not read the syntax of optional values. */
export const OPTIONAL_SELECT = '__optional_select__';
export const OPTIONAL_INDEX = '__optional_index__';

const RAW_TEXT = /[bB]?[rR][bB]?(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"[^"\n]*"|'[^'\n]*')/;
const TEXT = /"""(?:[^\\]|\\[\s\S])*?"""|'''(?:[^\\]|\\[\s\S])*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/;
const MARK = /\.\s*\?\s*([A-Za-z_]\w*)|\[\s*\?|[[\](){}]/;
/** A word or number, so that no text begins inside of it. */
const WORD = /\w+/;
const TOKEN = new RegExp([RAW_TEXT, TEXT, /\/\/[^\n]*/, MARK, WORD].map(({ source }) => source).join('|'), 'g');

/**
 * Rewrites optional access as calls of methods. Optional entries of lists and mappings stay: no parser reads them.
 */
export function withoutOptionalSyntax(expression: string): string {
  if (!/\.\s*\?|\[\s*\?/.test(expression)) return expression;
  const closers: string[] = [];
  return expression.replaceAll(TOKEN, (token, name: string | undefined, offset: number) => {
    if (name !== undefined) return `.${OPTIONAL_SELECT}("${name}")`;
    switch (token[0]) {
      case '[': {
        const isOptional = token.length > 1 && /[\w)\]}"']\s*$/.test(expression.slice(0, offset));
        closers.push(isOptional ? ')' : ']');
        return isOptional ? `.${OPTIONAL_INDEX}(` : token;
      }
      case '(':
      case '{':
        closers.push(token === '(' ? ')' : '}');
        return token;
      case ']':
      case ')':
      case '}':
        return closers.pop() ?? token;
      default:
        return token;
    }
  });
}
