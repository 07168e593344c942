/** A word that is not used any more, what replaces it, and where it may stand all the same. */
export interface RetiredWord {
  /** Matches inside identifiers, comments, strings and documents; case does not matter. */
  readonly word: RegExp;
  readonly instead: string;
  /** Beginnings of paths. */
  readonly except?: readonly string[];
}

/** The words that were retired: each coined for something that has a name, or used for two things. */
export const retiredWords: readonly RetiredWord[] = [
  { word: /\brivals?\b|\brival[A-Z]/i, instead: 'contender; of field managers: other manager' },
  { word: /\bclerks?\b/i, instead: 'follower' },
  { word: /clearances?\b/i, instead: 'removal permit' },
  { word: /presumption|presumed/i, instead: 'assumed warm' },
  { word: /as last read|lastRead/i, instead: 'last known good' },
  { word: /\bDoors\b/, instead: 'ApiAccess' },
  { word: /\bSight\b/, instead: 'Visibility' },
  { word: /sole.?claims?\b/i, instead: 'store lock' },
  { word: /\bchores?\b|[a-z]Chore\b/i, instead: 'single-flight task' },
  { word: /\blookouts?\b/i, instead: 'observer' },
  {
    word: /\bkeepers?\b|[a-z]Keeper\b/,
    instead: 'recorder, reconciler or refresher',
    // An API group of ClickHouse.
    except: ['docs/development/compared.md'],
  },
  { word: /\bfarewells?\b/i, instead: 'deregistration notice' },
  { word: /\bpartings\b/i, instead: 'disconnectCount' },
  // Messages of kubelets and about them.
  { word: /\bpostings?\b(?! (ready|node) status)/i, instead: 'cluster index' },
  { word: /\bquarrels?\b/i, instead: 'conflict' },
  { word: /removal verdicts?\b|verdicts\/|readVerdicts/i, instead: 'removal permit' },
  { word: /replica('s)? claims?\b|cluster claims?\b/i, instead: 'cluster lease' },
  { word: /patient.?intake/i, instead: 'suspendable intake' },
  { word: /\bheld.?inputs?\b/i, instead: 'input digests' },
  { word: /\btroubles?\b|[a-z]Trouble\b/i, instead: 'reason, problem or failure' },
  { word: /\breflectors?\b|[a-z]Reflector\b/i, instead: 'kind follower' },
  {
    word: /\b(whoever|whomever|somebody|anybody)\b/i,
    instead: 'who acts: the leader, a follower, the caller, another manager, a person',
    except: ['test/golden/'],
  },
  {
    // The message of the one exception stands in conditions.
    word: /\bnobody\b(?! knows whether this kind is namespaced)/i,
    instead: 'no replica, no source, no agent, no person',
    except: ['test/golden/'],
  },
  {
    word: /earlier (version|format)s? (has|have|wrote|of the store)/i,
    instead: 'nothing: no earlier version was released',
  },
  { word: /\bso many\b/i, instead: 'the number by its name, or "most ..."', except: ['test/golden/'] },
  {
    word: /\b(that|those) of\b/i,
    instead: 'the noun itself, or a possessive',
    except: ['test/golden/'],
  },
  { word: /\bas of (all that|\{@link|`)/i, instead: '"staged changes count", or "see {@link ...}"' },
];

/** Retired words that a text holds, each with the line in which it begins. A line break in a sentence counts as a space. */
export function retiredIn(path: string, text: string): readonly string[] {
  const words = retiredWords.filter(({ except = [] }) => !except.some((place) => path.startsWith(place)));
  const lines = text.split('\n');
  return lines.flatMap((line, index) => {
    const joined = `${line} ${lines[index + 1]?.replace(/^[\s*/#]+/, '') ?? ''}`;
    return words.flatMap(({ word, instead }) => {
      const found = word.exec(joined);
      if (found === null || found.index >= line.length) return [];
      return [`${path}:${index + 1}: ${found[0]} → ${instead}`];
    });
  });
}
