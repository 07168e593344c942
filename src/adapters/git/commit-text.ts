import { writableTime } from '../../model/text/time.ts';
import type { GitCommitInfo } from '../../ports/git-repo.ts';

/** Reads author, time of the committer and first line from a raw commit object. */
export function parseCommit(raw: Uint8Array): GitCommitInfo {
  const text = Buffer.from(raw).toString('utf8');
  const [header = '', ...body] = text.split('\n\n');
  const author = /^author (.*)$/m.exec(header)?.[1] ?? '';
  const seconds = Number(/^committer .*> (-?\d+) [+-]\d{4}$/m.exec(header)?.[1] ?? '0');
  const message = body.join('\n\n').trimStart();
  return {
    subject: printable(message.split('\n', 1)[0] ?? ''),
    author: printable(/^(.*?) ?</.exec(author)?.[1] ?? author),
    committedAt: writableTime(seconds * 1000),
  };
}

/** Controls, characters that change the direction of text, marks without width, and halves of characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+/gu;
const LONGEST_TEXT = 300;

/** What is shown and stored of a text in a commit: one line of printable characters, which a person can read at once. */
export function printable(text: string): string {
  const shown = text
    .slice(0, 4 * LONGEST_TEXT)
    .replace(UNPRINTABLE, ' ')
    .replace(/(\p{M}{4})\p{M}+/gu, '$1')
    .trim();
  const characters = Array.from(shown);
  return characters.length > LONGEST_TEXT ? `${characters.slice(0, LONGEST_TEXT - 3).join('')}...` : shown;
}
