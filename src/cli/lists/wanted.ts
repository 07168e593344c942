import { engineKindIds, engineKindRow } from '../../model/fleet/engine-kinds.ts';
import { isBuiltInWord, isKindWord } from '../../model/objects/kinds.ts';
import { suggestion } from '../../model/text/messages.ts';
import { printable } from '../../model/text/printable.ts';
import { placed } from '../domain-cli.ts';
import { domainViews } from '../domain-views.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import { CORE_KINDS, OUTPUTS } from './kinds.ts';
import type { ListedKind } from './listed-kind.ts';

/** Every kind that a server lists. */
export const LISTED_KINDS: readonly ListedKind[] = placed(
  CORE_KINDS,
  domainViews.map(({ after, lists }) => ({ after, rows: lists })),
);

/** A kind, and the words that name what is wanted of it. */
export interface Wanted {
  readonly kind: ListedKind;
  readonly words: readonly string[];
}

/**
 * What is asked for by these words, as for kubectl: `KIND NAME...`, or `KIND/NAME`. A kind of Kubernetes stands for the outputs of
 * that kind. Throws a usage error that names all kinds.
 */
export function wantedBy(first: string, words: readonly string[]): Wanted {
  const whole = kindNamed(first);
  if (whole !== undefined) return { kind: whole, words };
  const slash = first.indexOf('/');
  const [head, rest] = slash < 0 ? [first, undefined] : [first.slice(0, slash), first.slice(slash + 1)];
  const kind = rest === undefined || rest === '' ? undefined : kindNamed(head);
  if (kind !== undefined) return { kind, words: [rest ?? '', ...words] };
  if (!isBuiltInWord(head)) throw unknownKind(head);
  if (rest !== undefined || words.length === 0) return { kind: OUTPUTS, words: [first, ...words] };
  return { kind: OUTPUTS, words: words.map((word) => `${first}/${word}`) };
}

function kindNamed(word: string): ListedKind | undefined {
  const written = word.toLowerCase();
  return LISTED_KINDS.find(({ name, words }) => name === written || words.includes(written));
}

function unknownKind(word: string): CliError {
  const declared = engineKindIds.find((id) => isKindWord(word, engineKindRow(id)));
  const shown = printable(word);
  if (declared !== undefined) {
    const hint = `the repository declares it; see \`fleetrelay explain ${engineKindRow(declared).kind}/NAME\``;
    return new CliError(EXIT.usage, `${shown} is no kind that the server lists`, hint);
  }
  const meant = suggestion(
    word,
    LISTED_KINDS.flatMap(({ name, words }) => [name, words[0]]),
  );
  const guess = meant === undefined ? '' : `did you mean ${meant}? `;
  const all = LISTED_KINDS.map(({ name }) => name).join(', ');
  return new CliError(EXIT.usage, `there is no kind ${shown}`, `${guess}the kinds are ${all}`);
}
