import { describe, expect, it } from 'vitest';
import { decodeRelayConfig } from '../../../src/manifest/relay-config.ts';
import { displayDiagnostic } from '../../../src/model/diagnostic.ts';
import { bytesOf } from '../../support/decoding.ts';

const HEADER = 'apiVersion: fleetrelay.dev/v1alpha1\nkind: RelayConfig\n';
const MINIMAL = `${HEADER}fleet: {name: prod}\nsources: [{name: fleet, git: {url: "https://git.example.com/fleet.git"}}]\n`;

function decode(text: string) {
  const { config, diagnostics } = decodeRelayConfig('relay.yaml', bytesOf(text));
  return { config, said: diagnostics.map(displayDiagnostic) };
}

describe('decodeRelayConfig', () => {
  it('fills in what is left out', () => {
    expect(decode(MINIMAL)).toEqual({
      said: [],
      config: {
        fleet: 'prod',
        dataDirectory: 'fleetrelay-data',
        sources: [
          { type: 'git', name: 'fleet', url: 'https://git.example.com/fleet.git', path: '', pollIntervalSeconds: 60 },
        ],
        store: { type: 'sqlite' },
        relay: {
          listen: { address: '0.0.0.0', port: 9900 },
          tls: { mode: 'server', certificate: { type: 'generated', names: [] } },
        },
        http: { listen: { address: '127.0.0.1', port: 9980 } },
        statusGit: {
          enabled: true,
          target: { type: 'source' },
          branch: 'fleetrelay/status/prod',
          author: { name: 'fleetrelay', email: 'fleetrelay@localhost' },
        },
        statusKubernetes: { enabled: true },
        bounds: { guards: {}, safeModes: ['strict', 'scoped', 'off'] },
      },
    });
  });

  it('takes everything that can be said', () => {
    const text = `${HEADER}
fleet: {name: prod}
dataDirectory: /data
sources:
- name: custom
  kubernetes: {kubeconfig: kubeconfig, context: here, namespaces: [a, b], kinds: [Placement, Placement]}
- name: all
  kubernetes: {}
- name: fleet
  git:
    url: https://git.example.com/fleet.git
    branch: main
    path: /production/
    credentials: {usernameEnv: USER_NAME, tokenFile: token}
    pollIntervalSeconds: 5
    hook: {secretEnv: HOOK}
- name: local
  files: {path: ./desired}
store: {type: memory}
relay:
  listen: {address: "::", port: 0}
  secretFile: secret
  tls: {certificate: {certFile: a, keyFile: b, caFile: c}}
http: {listen: {port: 1}, tokenFile: t}
status: {git: {source: fleet, branch: s, author: {name: Robot}, enabled: false, credentials: {usernameFile: u, passwordFile: p}}, kubernetes: {enabled: false}}
bounds: {guards: {maxRemovalsPerCluster: 5}, safeMode: {modes: [strict]}}
`;
    expect(decode(text)).toEqual({
      said: [],
      config: {
        fleet: 'prod',
        dataDirectory: '/data',
        sources: [
          {
            type: 'git',
            name: 'fleet',
            url: 'https://git.example.com/fleet.git',
            branch: 'main',
            path: 'production',
            credentials: { username: { type: 'env', name: 'USER_NAME' }, token: { type: 'file', path: 'token' } },
            pollIntervalSeconds: 5,
            hookSecret: { type: 'env', name: 'HOOK' },
          },
          { type: 'files', name: 'local', path: './desired' },
          // Whoever writes a custom resource takes nothing from a repository: they come last.
          {
            type: 'kubernetes',
            name: 'custom',
            kubeconfig: 'kubeconfig',
            context: 'here',
            namespaces: ['a', 'b'],
            kinds: ['Placement'],
          },
          {
            type: 'kubernetes',
            name: 'all',
            kinds: ['KubernetesCluster', 'Placement', 'FleetPolicy', 'Dataplane', 'Shoot'],
          },
        ],
        store: { type: 'memory' },
        relay: {
          listen: { address: '::', port: 0 },
          secretFile: 'secret',
          tls: { mode: 'server', certificate: { type: 'files', certFile: 'a', keyFile: 'b', caFile: 'c' } },
        },
        http: { listen: { address: '127.0.0.1', port: 1 }, tokenFile: 't' },
        statusGit: {
          enabled: false,
          target: { type: 'source', source: 'fleet' },
          branch: 's',
          credentials: { username: { type: 'file', path: 'u' }, password: { type: 'file', path: 'p' } },
          author: { name: 'Robot', email: 'fleetrelay@localhost' },
        },
        statusKubernetes: { enabled: false },
        bounds: { guards: { maxRemovalsPerCluster: 5 }, safeModes: ['strict'] },
      },
    });
  });

  const source = (git: string) => `${HEADER}fleet: {name: prod}\nsources:\n- name: fleet\n  git: ${git}\n`;
  it.each([
    ['', ['relay.yaml: error: the file holds no RelayConfig']],
    ['- a\n', ['relay.yaml:1:1: error: a RelayConfig must be a mapping']],
    [`${MINIMAL}---\na: 1\n`, ['relay.yaml:6:1: error: the file must hold one RelayConfig and no more']],
    [
      `${HEADER}fleet: {name: prod}\nsources: [{name: a}, {name: b, git: {url: x}, files: {path: z}}]\n`,
      [
        'relay.yaml:4:11: error: sources[0] needs exactly one of files, git, kubernetes',
        'relay.yaml:4:22: error: sources[1] needs exactly one of files, git, kubernetes',
      ],
    ],
    [
      `${HEADER}fleet: {name: Prod}\nsources: [{name: a, files: {path: x}}, {name: a, files: {path: z}}]\n`,
      [
        'relay.yaml:3:15: error: fleet name "Prod" must be 1 to 63 lower-case letters, digits or "-", start with a letter and not end with "-"',
        'relay.yaml:4:47: error: the source name a is here twice',
      ],
    ],
    [
      source('{url: "https://me:pass@example.com/x"}'),
      ['relay.yaml:6:14: error: the address must not hold a user or password: put them under credentials'],
    ],
    [
      source('{url: git@example.com:a/b.git}'),
      ['relay.yaml:6:14: error: ssh is not supported: use an http(s) address'],
    ],
    [
      source('{url: ssh://git@example.com/a}'),
      ['relay.yaml:6:14: error: the address must begin with https://, http:// or file://, or be a path, not ssh://'],
    ],
    [source('{url: --upload-pack=x}'), ['relay.yaml:6:14: error: the address must not begin with "-"']],
    [
      source('{url: /srv/a, path: a/../b}'),
      [
        'relay.yaml:6:28: error: the path must be a folder inside the repository, separated by "/", without "." and ".."',
      ],
    ],
    [
      source('{url: /srv/a, credentials: {tokenEnv: A, tokenFile: b}}'),
      ['relay.yaml:6:35: error: at most one of tokenEnv, tokenFile may be given'],
    ],
    [
      source('{url: /srv/a, credentials: {passwordEnv: A}}'),
      ['relay.yaml:6:35: error: a password needs a user name: usernameEnv or usernameFile'],
    ],
    [
      source('{url: /srv/a, credentials: {token: A}}'),
      [
        'relay.yaml:6:36: error: sources[0].git.credentials.token is not a field that is known here (did you mean tokenEnv?)',
      ],
    ],
    [
      source('{url: /srv/a, branch: fleetrelay/status/prod}'),
      ['relay.yaml:1:1: error: the status branch must not be a branch that is read as desired state'],
    ],
    [`${MINIMAL}store: {type: memory, path: x}\n`, ['relay.yaml:5:29: error: a store in memory has no path']],
    [`${MINIMAL}store: {type: redis}\n`, ['relay.yaml:5:15: error: store.type must be one of sqlite, memory']],
    [
      `${MINIMAL}relay: {tls: {certificate: {certFile: a}}}\n`,
      ['relay.yaml:5:28: error: a given certificate needs all of certFile, keyFile and caFile'],
    ],
    [`${MINIMAL}status: {git: {source: other}}\n`, ['relay.yaml:5:24: error: other is not the name of a git source']],
    [
      `${MINIMAL}status: {git: {source: fleet, url: /x}}\n`,
      ['relay.yaml:5:15: error: status.git needs at most one of source, url'],
    ],
  ])('refuses what cannot be meant: %#', (text, expected) => {
    const { config, said } = decode(text);
    expect(said).toEqual(expected);
    expect(config).toBeUndefined();
  });

  it('never repeats a password', () => {
    for (const url of [
      'https://me:hunter2@example.com/x',
      'me:hunter2@example.com',
      'ftp://me:hunter2@x',
      'https://[hunter2',
      'https://x/?token=hunter2',
    ]) {
      const { said } = decode(source(JSON.stringify({ url })));
      expect(said.length, url).toBeGreaterThan(0);
      expect(said.join()).not.toContain('hunter2');
    }
  });
});
