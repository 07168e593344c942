import type { TokenRequest } from '../compose/cluster/token.ts';
import type { DocumentsRequest, FoundDocuments } from '../compose/documents.ts';
import type { CliCommand, Examples, ProcessContext } from './command.ts';
import type { UsageRow } from './exit-codes.ts';
import type { ListedKind } from './lists/listed-kind.ts';

/** The process of a command of a domain, with the roots of the core that it can start. */
export interface CommandContext extends ProcessContext {
  readonly roots: {
    readonly token: (request: TokenRequest) => Promise<string>;
    readonly findDocuments: (request: DocumentsRequest) => Promise<FoundDocuments>;
  };
}

/** A command of a domain. */
export interface DomainCommand {
  readonly name: string;
  /** Loads its module, when it runs or for the overview. */
  readonly load: () => Promise<(context: CommandContext) => CliCommand>;
  /** The command that it follows in the overview. */
  readonly after: string;
  /** By the name of a command below it: the list of `get` that has the names for its argument. Completion of a shell uses it. */
  readonly names?: Readonly<Record<string, string>>;
}

/** An option that limits lists. */
export interface FilterOption {
  /** What stands for the value: `<name>`. */
  readonly value: string;
  /** Before the names of the lists, in the help. */
  readonly what: string;
}

/** What `get` and `explain` show of a domain. */
export interface DomainViews {
  readonly lists: readonly ListedKind[];
  /** The list that they follow; absent: they are the last ones. */
  readonly after?: string;
  /** Of `get`. */
  readonly examples: Examples;
  /** Options of `get` that limit lists of the domain, by name of the filter that views know. */
  readonly filters?: Readonly<Record<string, FilterOption>>;
  /** Absent: `explain` has nothing of it but its declarations and objects. */
  readonly explain?: {
    /** Sentences about what it explains, for its help. */
    readonly what: string;
    readonly examples: Examples;
    /** Statuses as people read them; others are shown as they are. */
    readonly statuses?: Readonly<Record<string, string>>;
    /** The option for what contains the entities: its name is their {@link EntityKind.parent}. */
    readonly parent?: { readonly name: string; readonly what: string };
  };
}

/** What a domain adds to `fleetrelay agent`. */
export interface AgentCli {
  readonly options: (command: CliCommand) => unknown;
  /** Flags that do not go together. */
  readonly contradictions: (flags: Readonly<Record<string, unknown>>) => readonly UsageRow[];
  /** What its part of the agent of a Kubernetes cluster is told; undefined: nothing is asked of it. */
  readonly settings: (flags: Readonly<Record<string, unknown>>) => unknown;
  /** Paragraphs for the help. */
  readonly notes: string;
}

/** What a domain adds to the command line. */
export interface DomainCli {
  readonly commands: readonly DomainCommand[];
  readonly views: () => Promise<DomainViews>;
  /** Absent: nothing. */
  readonly agent?: () => Promise<AgentCli>;
}

/**
 * Rows of the core and of domains. A group of rows stands directly after the row that it names, or at the end if it names none.
 * Throws if there is no row of that name.
 */
export function placed<Row extends { readonly name: string }>(
  core: readonly Row[],
  groups: readonly { readonly after?: string | undefined; readonly rows: readonly Row[] }[],
): readonly Row[] {
  const all = [...core];
  for (const { after, rows } of groups) {
    const at = after === undefined ? all.length - 1 : all.findIndex(({ name }) => name === after);
    if (at < 0) throw new Error(`a row of a domain is to stand after ${after}, which is not there`);
    all.splice(at + 1, 0, ...rows);
  }
  return all;
}
