/** What a piece of a CGI program's output holds: the head once, then body. */
export interface CgiPart {
  readonly head: { readonly status: number; readonly headers: Record<string, string> } | undefined;
  readonly body: Buffer;
}

const MAX_HEAD_BYTES = 64 * 1024;

/** Takes a CGI answer apart as it comes; undefined while the head is not complete. */
export function createCgiParser(): { add(chunk: Buffer): CgiPart | 'malformed' | undefined } {
  let pending: Buffer = Buffer.alloc(0);
  let inBody = false;
  return {
    add: (chunk) => {
      if (inBody) return { head: undefined, body: chunk };
      pending = Buffer.concat([pending, chunk]);
      const end = /\r?\n\r?\n/.exec(pending.toString('latin1', 0, MAX_HEAD_BYTES));
      if (end === null) return pending.length > MAX_HEAD_BYTES ? 'malformed' : undefined;
      inBody = true;
      const head = pending.toString('latin1', 0, end.index);
      const body = pending.subarray(end.index + end[0].length);
      pending = Buffer.alloc(0);
      return { head: parseHead(head), body };
    },
  };
}

function parseHead(text: string): { readonly status: number; readonly headers: Record<string, string> } {
  const headers: Record<string, string> = {};
  let status = 200;
  for (const line of text.split(/\r?\n/)) {
    const [, name = '', value = ''] = /^([^:]+):\s*(.*)$/.exec(line) ?? [];
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10) || 500;
    else if (name !== '') headers[name] = value;
  }
  return { status, headers };
}
