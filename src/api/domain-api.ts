import type { Act, Answer } from './answer.ts';

/** Texts by name, each of a bounded length. */
export type Texts = Readonly<Record<string, string>>;

/** What people can do by `POST` on a path. */
export interface ApiAct {
  /** Below `/api/v1`. Parts that begin with a colon are names: `/sources/:name/sync`. */
  readonly path: string;
  /** The greatest lengths in characters of the texts that the body must have. */
  readonly needed?: Readonly<Record<string, number>>;
  /** The same, of texts that the body may have. */
  readonly optional?: Readonly<Record<string, number>>;
  /** The server that is asked records the act in its trust folder. Absent: the leader records it in the store. */
  readonly isTrust?: true;
  /** `texts`: the texts in the body, and the names in the path. */
  readonly run: (texts: Texts, by: string) => Promise<Act<object>>;
}

/** What people can ask by `GET` on a path. */
export interface ApiQuestion {
  /** See `path` of {@link ApiAct}. */
  readonly path: string;
  /** `names`: those in the path. */
  readonly answer: (names: Texts) => Answer<object>;
}

/** What the domains of a server add to its API. */
export interface DomainApi {
  readonly acts: readonly ApiAct[];
  readonly questions: readonly ApiQuestion[];
}
