import type { Option } from 'commander';
import { expect, test } from 'vitest';
import type { CliCommand } from '../../src/cli/command.ts';
import { allCommands } from '../../src/cli/registry.ts';
import { recordingRoots } from '../support/cli.ts';

interface Given {
  readonly command: string;
  readonly option: Option;
}

/** Options that several commands describe in words of their own, with the one meaning that all of them have. */
const SHARED: Readonly<Record<string, string>> = {
  '--agent-context': "context of the kubeconfig for the agent's cluster",
  '--agent-kubeconfig': "kubeconfig of the agent's cluster",
  '--api-token-file': 'file with a token for the API: one that the server accepts, or the own one',
  '--as': 'who does it, for a server without configured people',
  '--ca-file': 'certificate authority of the server',
  '--checkout': 'a checkout of the repository',
  '--cluster': 'name of a cluster',
  '--config': 'RelayConfig of the server',
  '--confirm': 'the name of the cluster once more',
  '--context': 'context of the kubeconfig',
  '--data-dir': 'folder for the own data of a server or an agent',
  '--directory': 'the folder that is a cluster',
  '--dry-run': 'nothing is changed',
  '--file': 'the file that is written',
  '--fleet': 'name of the fleet',
  '--force': 'replace what is there',
  '--generation': 'generation of the token',
  '--image': 'image of the container that is added',
  '--insecure': 'no TLS',
  '--kubeconfig': 'kubeconfig of a cluster',
  '--kubernetes-version': 'version of Kubernetes',
  '--limit': 'as many at most',
  '--mesh': 'name of a mesh',
  '--metrics': 'where the process listens for health and metrics',
  '--namespace': 'a namespace',
  '--output': 'how to print it',
  '--relay-secret-file': 'secret that tokens are derived from',
  '--renew': 'make earlier tokens worthless',
  '--server': 'HOST:PORT of the management server',
  '--single-use': 'the token enrols one agent',
  '--source': 'the source that is meant',
  '--token-file': 'file with the token that the process shows',
  '--valid-for': 'how long the enrolment token is valid',
  '--virtual-probes-port': 'port of Virtual Probes',
  '--watch': 'go on, and print changes',
};

/** Options that are a switch at one command and take a value at another; both mean the same. */
const WITH_AND_WITHOUT_VALUE = ['--native-sidecar'];

async function given(): Promise<readonly Given[]> {
  const unused = (): never => {
    throw new Error('no command is run here');
  };
  const out = { write: () => undefined, isTerminal: false, colour: false, columns: 80 };
  const commands = await allCommands({
    ...{ stdout: out, stderr: out, env: {}, cwd: '/', version: '', roots: recordingRoots() },
    ...{ readStdin: unused, untilStopped: unused, stopSignals: unused, exit: unused },
  });
  return commands.flatMap((command) => optionsOf(command, command.name()));
}

function optionsOf(command: CliCommand, name: string): readonly Given[] {
  return [
    ...command.options.map((option) => ({ command: name, option })),
    ...command.commands.flatMap((child) => optionsOf(child as CliCommand, `${name} ${child.name()}`)),
  ];
}

/** The values of `of` for each name that has more than one of them, with the commands. */
function differing(all: readonly Given[], nameOf: (option: Option) => string, of: (option: Option) => string) {
  return [...Map.groupBy(all, ({ option }) => nameOf(option))].flatMap(([name, uses]) => {
    const values = [...Map.groupBy(uses, ({ option }) => of(option))];
    return values.length === 1 ? [] : [[name, values.map(([value, at]) => `${value}: ${at[0]?.command}`)] as const];
  });
}

const longOf = ({ long }: Option): string => (long ?? '').replace(/^--no-/, '--');

test('a letter stands for one option everywhere', async () => {
  const withLetter = (await given()).filter(({ option }) => option.short !== undefined);
  expect(withLetter.length).toBeGreaterThan(20);
  expect(differing(withLetter, ({ short }) => short ?? '', longOf)).toEqual([]);
});

test('an option takes one type of value everywhere', async () => {
  const typed = (await given()).filter(({ option }) => !WITH_AND_WITHOUT_VALUE.includes(longOf(option)));
  expect(differing(typed, longOf, ({ flags }) => /[<[].*[>\]]/.exec(flags)?.[0] ?? 'no value')).toEqual([]);
});

test('an option is described in the same words everywhere, unless its one meaning is listed', async () => {
  const differ = differing(
    (await given()).filter(({ option }) => option.negate === false),
    longOf,
    ({ description }) => description,
  );
  expect(differ.filter(([name]) => SHARED[name] === undefined)).toEqual([]);
  const described = new Set(differ.map(([name]) => name));
  expect(Object.keys(SHARED).filter((name) => !described.has(name))).toEqual([]);
});
