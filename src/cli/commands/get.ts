import { Argument, Option } from 'commander';
import type { ClusterName } from '../../model/fleet/ids.ts';
import type { LabelSelector } from '../../model/objects/label-selector.ts';
import { printable } from '../../model/text/printable.ts';
import { given } from '../../model/values/given.ts';
import { clusterName, labelSelector, namespaceName } from '../arguments.ts';
import type { CliContext } from '../cli-context.ts';
import { type CliCommand, type Examples, newCommand } from '../command.ts';
import { domainViews } from '../domain-views.ts';
import { refuseUsage } from '../exit-codes.ts';
import type { ListedKind, ListFilter } from '../lists/listed-kind.ts';
import { showList } from '../lists/show-list.ts';
import { LISTED_KINDS, type Wanted, wantedBy } from '../lists/wanted.ts';
import { type Column, type CommandAnswer, listAnswer, NAME_FORMATS } from '../output.ts';

interface Flags {
  readonly namespace?: string;
  readonly allNamespaces?: true;
  readonly selector?: { readonly text: string; readonly parsed: LabelSelector };
  readonly cluster?: ClusterName;
  readonly watch?: true;
  readonly output: string;
  /** Of domains, by {@link FILTERS}. */
  readonly [filter: string]: unknown;
}

/** The filters of domains. */
const FILTERS = domainViews.flatMap(({ filters = {} }) =>
  Object.entries(filters).map(([name, row]) => ({ name, flag: new Option(`--${name}`).attributeName(), ...row })),
);

const EXAMPLES: Examples = [
  ['fleetrelay get', 'the kinds that can be listed'],
  ['fleetrelay get clusters -l region=eu', 'the clusters with this label: connected, in sync'],
  ['fleetrelay get outputs --cluster east', 'every object that "east" should hold, and what became of it'],
  ['fleetrelay get outputs deploy/web -n shop', 'one object in every cluster that should hold it'],
  ['fleetrelay get deployments --watch', 'the outputs of a kind, and each change until you stop it'],
  ['fleetrelay get cluster east -o wide', 'one cluster with versions, labels and id'],
  ['fleetrelay get sources -o name', 'names for a script, a line each'],
  ['fleetrelay get removals -o yaml', 'what a guard holds back'],
  ...domainViews.flatMap(({ examples }) => examples),
];

/** `fleetrelay get [KIND] [NAME...]`: lists one kind of thing that the server knows. */
export function getCommand(context: CliContext): CliCommand {
  const command = newCommand('get', context)
    .summary('list clusters, outputs, sources, held removals and all else that the server knows')
    .description(
      'Lists things of one kind as the server knows them; without a kind it lists the kinds. KIND is the plural, the singular, or a kind of Kubernetes such as deploy, which stands for the outputs of that kind. KIND/NAME is as good as KIND NAME.',
    )
    // The choices are for completion only: `wantedBy` knows more words.
    .addArgument(
      new Argument('[kind]', 'what to list').choices(LISTED_KINDS.map(({ name }) => name)).argParser((kind) => kind),
    )
    .argument('[name...]', 'only those with one of these names; an output is KIND/NAME or KIND/NAMESPACE/NAME')
    .option('-n, --namespace <name>', `only what is in this namespace (${kindsWith('namespace')})`, namespaceName)
    .option('-A, --all-namespaces', 'what is in any namespace; the default')
    .option(
      '-l, --selector <labels>',
      `only what has these labels, as KEY=VALUE,KEY!=VALUE,KEY in (A,B) (${kindsWith('selector')})`,
      labelSelector,
    )
    .option('--cluster <name>', `only what belongs to this cluster (${kindsWith('cluster')})`, clusterName);
  for (const { name, value, what } of FILTERS) {
    const added = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];
    command.option(`--${name} ${value}`, `${what} (${kindsWith(name)})`, added);
  }
  return command
    .option('-w, --watch', 'go on, and print what is new or has changed')
    .examples(EXAMPLES)
    .asks(async (api, flags: Flags, first: string | undefined, words: readonly string[]): Promise<CommandAnswer> => {
      if (first === undefined) {
        refuseUsage([
          [Object.keys(filterOf(flags)).length > 0 || flags.watch === true, 'name a kind first', KINDS_HINT],
        ]);
        return kindsAnswer();
      }
      const wanted = wantedBy(first, words);
      const filter = filterOf(flags);
      refuseFilters(wanted.kind, flags, filter);
      const { output, watch = false } = flags;
      return showList(context, api, { ...wanted, filter, output, watch, none: none(wanted, flags) });
    }, NAME_FORMATS);
}

const KINDS_HINT = '`fleetrelay get` lists the kinds';

function filterOf(flags: Flags): ListFilter {
  const { namespace, selector, cluster } = flags;
  const own = FILTERS.flatMap(({ name, flag }) => (flags[flag] === undefined ? [] : [[name, flags[flag]]]));
  return {
    ...given({ namespace }),
    ...(selector === undefined ? {} : { selector: selector.parsed }),
    ...given({ cluster }),
    ...(own.length === 0 ? {} : { own: Object.fromEntries(own) }),
  };
}

function refuseFilters(kind: ListedKind, { namespace, allNamespaces }: Flags, filter: ListFilter): void {
  const { own = {}, ...others } = filter;
  const wrong = Object.keys({ ...others, ...own }).find((name) => !kind.filters.includes(name));
  const hint = wrong === undefined ? '' : `it applies to ${kindsWith(wrong)}`;
  refuseUsage([
    [namespace !== undefined && allNamespaces === true, '--namespace and --all-namespaces exclude each other'],
    [wrong !== undefined, `--${wrong} does not apply to ${kind.name}`, hint],
  ]);
}

/** The names of the kinds that a filter limits. */
function kindsWith(filter: string): string {
  return LISTED_KINDS.filter(({ filters }) => filters.includes(filter))
    .map(({ name }) => name)
    .join(', ');
}

const KIND_COLUMNS: readonly Column<ListedKind>[] = [
  { title: 'KIND', text: ({ name }) => name },
  { title: 'ALSO', text: ({ words }) => words.join(', '), isWide: true },
  { title: 'NAMED BY', text: ({ naming }) => naming, isWide: true },
  { title: 'WHAT IT LISTS', text: ({ what }) => what },
];

function kindsAnswer(): CommandAnswer {
  const value = LISTED_KINDS.map(({ name, words, what, naming, filters }) => ({ name, words, what, naming, filters }));
  return { ...listAnswer(KIND_COLUMNS, LISTED_KINDS, '', value), names: LISTED_KINDS.map(({ name }) => name) };
}

/** Says that a list is empty, and which filters it has. */
function none({ kind, words }: Wanted, flags: Flags): string {
  const { namespace, selector, cluster } = flags;
  const { own = {} } = filterOf(flags);
  const filters = [
    ...words,
    ...(namespace === undefined ? [] : [`--namespace ${namespace}`]),
    ...(selector === undefined ? [] : [`--selector ${selector.text}`]),
    ...(cluster === undefined ? [] : [`--cluster ${cluster}`]),
    ...Object.entries(own).flatMap(([name, values = []]) => values.map((value) => `--${name} ${value}`)),
  ];
  return filters.length === 0 ? `no ${kind.many}` : `no ${kind.many} match ${filters.map(printable).join(' ')}`;
}
