const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;

/** What is open at the end of a line. */
interface Open {
  /** The fence of a code block; empty: the line is in none. */
  readonly fence: string;
  /** Folded sections. */
  readonly sections: number;
}

/**
 * Cuts Markdown to at most `most` characters, at the end of a line. Closes code blocks and folded sections that are open there,
 * and says in a last sentence that the text was cut.
 */
export function cutBody(body: string, most: number): string {
  if (body.length <= most) return body.toWellFormed();
  const note = `**The text is cut here: it has ${body.length} characters, and this host takes ${most}.**`;
  let open: Open = { fence: '', sections: 0 };
  let kept = 0;
  let ending = endingOf(open, note);
  for (const line of body.split('\n')) {
    const end = kept + line.length + 1;
    open = after(open, line);
    const next = endingOf(open, note);
    if (end + next.length > most) break;
    kept = end;
    ending = next;
  }
  return `${body.slice(0, kept)}${ending}`.toWellFormed();
}

function endingOf({ fence, sections }: Open, note: string): string {
  return `${fence === '' ? '' : `${fence}\n`}${'\n</details>\n'.repeat(sections)}\n${note}\n`;
}

function after({ fence, sections }: Open, line: string): Open {
  const [, found = '', rest = ''] = FENCE.exec(line) ?? [];
  if (fence !== '') {
    const closes = found.startsWith(fence) && rest.trim() === '';
    return { fence: closes ? '' : fence, sections };
  }
  if (found !== '') return { fence: found, sections };
  const opened = line.match(/<details\b/g)?.length ?? 0;
  const closed = line.match(/<\/details>/g)?.length ?? 0;
  return { fence, sections: Math.max(0, sections + opened - closed) };
}

/** One line of at most `most` characters, without control characters. */
export function cutLine(text: string, most: number): string {
  const line = text.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
  return line.length <= most ? line.toWellFormed() : `${line.slice(0, most - 1)}…`.toWellFormed();
}
