import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeRelayConfig } from '../../../src/manifest/relay-config.ts';
import { displayDiagnostic } from '../../../src/model/fleet/diagnostic.ts';
import { bytesOf } from '../../support/decoding.ts';

const HEADER = 'apiVersion: fleetrelay.dev/v1alpha1\nkind: RelayConfig\n';
const MINIMAL = `${HEADER}fleet: {name: prod}\nsources: [{name: fleet, git: {url: "https://git.example.com/fleet.git"}}]\n`;

function decode(text: string) {
  const { config, diagnostics } = decodeRelayConfig('relay.yaml', bytesOf(text));
  return { config, said: diagnostics.map(displayDiagnostic) };
}

describe('decodeRelayConfig', () => {
  it('reads the example of docs/guides/run-a-server.md', () => {
    const page = readFileSync(new URL('../../../docs/guides/run-a-server.md', import.meta.url), 'utf8');
    const [, text = ''] = /```yaml\n(apiVersion: \S+\nkind: RelayConfig\n[\s\S]*?)```/.exec(page) ?? [];
    expect(decode(text)).toMatchObject({
      said: [],
      config: { fleet: 'shop', sources: [{ name: 'main', branch: 'main' }] },
    });
  });

  it('fills in defaults', () => {
    expect(decode(MINIMAL)).toEqual({
      said: [],
      config: {
        fleet: 'prod',
        dataDirectory: 'fleetrelay-data',
        sources: [
          { type: 'git', name: 'fleet', url: 'https://git.example.com/fleet.git', path: '', pollIntervalSeconds: 60 },
        ],
        store: { type: 'sqlite' },
        replicas: { mode: 'one', lease: 'store' },
        relay: {
          listen: { address: '0.0.0.0', port: 9900 },
          secrets: [],
          tls: {
            mode: 'mtls',
            certificate: { type: 'generated', names: [] },
            clients: { type: 'issued', lifetimeSeconds: 7_776_000 },
          },
        },
        http: { listen: { address: '127.0.0.1', port: 9980 }, people: [] },
        metrics: { listen: { address: '127.0.0.1', port: 9981 } },
        audit: { fileBytes: 16_777_216, files: 8 },
        statusGit: {
          enabled: true,
          branch: 'fleetrelay/status/prod',
          author: { name: 'fleetrelay', email: 'fleetrelay@localhost' },
        },
        statusKubernetes: { enabled: true },
        git: { adapter: 'auto' },
        limits: {
          cluster: { objects: 100_000, bytes: 268_435_456, kinds: 1_000 },
          cloneBytes: 2_147_483_648,
          deltaBytes: 67_108_864,
          revision: {
            ...{ bytes: 268_435_456, depth: 100, documents: 100_000, entries: 250_000 },
            ...{
              files: 100_000,
              findings: 100_000,
              nodes: 5_000_000,
              expandedBytes: 512 * 2 ** 20,
              matchingSteps: 10 ** 9,
            },
          },
        },
        bounds: {
          guards: {},
          safeModes: ['strict', 'scoped', 'off'],
          webhookRemediator: false,
          approvals: ['file', 'api'],
        },
      },
    });
  });

  it('reads every field', () => {
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
    credentials: {username: robot, tokenFile: token}
    pollIntervalSeconds: 5
    hook: {secretEnv: HOOK}
- name: local
  files: {path: ./desired}
store:
  type: redis
  redis:
    nodes: [a, "[::1]:7"]
    sentinel: {master: m, usernameEnv: U, passwordEnv: P}
    username: fleet
    passwordFile: p
    database: 3
    prefix: x
    tls: {caFile: a, certFile: b, keyFile: c, serverName: d}
replicas: {mode: one, lease: kubernetes, advertise: "https://me:1"}
relay:
  listen: {address: "::", port: 0}
  secrets: [{secretFile: secret}, {secretEnv: OLD}]
  sharedToken: {tokenFile: shared}
  tls:
    certificate: {certFile: a, keyFile: b, caFile: c}
    clients: {signing: {certFile: d, keyFile: e}, lifetimeSeconds: 7200}
http:
  listen: {port: 1}
  people: [{name: Alice A., role: operate, tokenFile: t}, {name: bob, role: read, tokenEnv: BOB}]
  tls: {certFile: a, keyFile: b, clientCaFile: c}
metrics: {listen: {address: 0.0.0.0, port: 2}}
audit: {file: log, fileBytes: 65536, files: 30}
status: {git: {source: fleet, branch: s, author: {name: Robot}, enabled: false, credentials: {usernameFile: u, passwordFile: p}}, kubernetes: {enabled: false}}
git: {adapter: isomorphic}
limits: {cluster: {objects: 7, bytes: 70000, kinds: 8}}
bounds: {approvals: [signedFile, api], approvalSigners: {allowedSignersFile: s, openpgpKeysFile: k}, guards: {maxRemovalsPerCluster: 5}, safeMode: {modes: [strict]}, care: {webhookRemediator: true}}
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
            credentials: { username: { type: 'text', text: 'robot' }, token: { type: 'file', path: 'token' } },
            pollIntervalSeconds: 5,
            hookSecret: { type: 'env', name: 'HOOK' },
          },
          { type: 'files', name: 'local', path: './desired' },
          // Custom resources come last, so that a repository's declaration wins.
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
            kinds: ['KubernetesCluster', 'Placement', 'ServiceMirror', 'FleetPolicy', 'Dataplane', 'Shoot'],
          },
        ],
        store: {
          type: 'redis',
          nodes: [
            { host: 'a', port: 6379 },
            { host: '::1', port: 7 },
          ],
          sentinel: { master: 'm', username: { type: 'env', name: 'U' }, password: { type: 'env', name: 'P' } },
          username: { type: 'text', text: 'fleet' },
          password: { type: 'file', path: 'p' },
          database: 3,
          prefix: 'x',
          tls: { caFile: 'a', certFile: 'b', keyFile: 'c', serverName: 'd' },
        },
        replicas: { mode: 'one', lease: 'kubernetes', advertise: 'https://me:1' },
        relay: {
          listen: { address: '::', port: 0 },
          secrets: [
            { type: 'file', path: 'secret' },
            { type: 'env', name: 'OLD' },
          ],
          sharedToken: { type: 'file', path: 'shared' },
          tls: {
            mode: 'mtls',
            certificate: { type: 'files', certFile: 'a', keyFile: 'b', caFile: 'c' },
            clients: { type: 'issued', signing: { certFile: 'd', keyFile: 'e' }, lifetimeSeconds: 7200 },
          },
        },
        http: {
          listen: { address: '127.0.0.1', port: 1 },
          people: [
            { name: 'Alice A.', role: 'operate', token: { type: 'file', path: 't' } },
            { name: 'bob', role: 'read', token: { type: 'env', name: 'BOB' } },
          ],
          tls: { certFile: 'a', keyFile: 'b', clientCaFile: 'c' },
        },
        metrics: { listen: { address: '0.0.0.0', port: 2 } },
        audit: { file: 'log', fileBytes: 65_536, files: 30 },
        statusGit: {
          enabled: false,
          source: 'fleet',
          branch: 's',
          credentials: { username: { type: 'file', path: 'u' }, password: { type: 'file', path: 'p' } },
          author: { name: 'Robot', email: 'fleetrelay@localhost' },
        },
        statusKubernetes: { enabled: false },
        git: { adapter: 'isomorphic' },
        limits: {
          cluster: { objects: 7, bytes: 70_000, kinds: 8 },
          cloneBytes: 2_147_483_648,
          deltaBytes: 67_108_864,
          revision: {
            ...{ bytes: 268_435_456, depth: 100, documents: 100_000, entries: 250_000 },
            ...{
              files: 100_000,
              findings: 100_000,
              nodes: 5_000_000,
              expandedBytes: 512 * 2 ** 20,
              matchingSteps: 10 ** 9,
            },
          },
        },
        bounds: {
          guards: { maxRemovalsPerCluster: 5 },
          safeModes: ['strict'],
          webhookRemediator: true,
          approvals: ['signedFile', 'api'],
        },
        approvalSigners: { allowedSignersFile: 's', openpgpKeysFile: 'k' },
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
      `${MINIMAL}bounds: {approvals: [signedFile]}\n`,
      [
        'relay.yaml:5:21: error: signedFile needs approvalSigners with allowedSignersFile (SSH keys) or openpgpKeysFile (OpenPGP keys)',
      ],
    ],
    [
      `${MINIMAL}bounds: {approvals: [file, signedFile], approvalSigners: {allowedSignersFile: s}}\n`,
      [
        'relay.yaml:5:21: error: with file, a RemovalApproval without a signature counts as well: leave out file or signedFile',
      ],
    ],
    [
      `${MINIMAL}bounds: {approvalSigners: {allowedSignersFile: s}}\n`,
      ['relay.yaml:5:27: error: signers have no meaning unless bounds.approvals lists signedFile'],
    ],
    [
      source('{url: "https://me:pass@example.com/x"}'),
      ['relay.yaml:6:14: error: the address must not hold a user or password: put them under credentials'],
    ],
    [
      source('{url: git@example.com:a/b.git}'),
      ['relay.yaml:6:8: error: an SSH address needs ssh, with keyFile and knownHostsFile'],
    ],
    [
      source('{url: ssh://git@example.com/a, credentials: {tokenEnv: T}, ssh: {keyFile: k, knownHostsFile: h}}'),
      ['relay.yaml:6:8: error: credentials and caFile are for an http(s) address; an SSH address has ssh'],
    ],
    [
      source('{url: "https://example.com/a", ssh: {keyFile: k, knownHostsFile: h}}'),
      ['relay.yaml:6:44: error: only an SSH address has ssh'],
    ],
    [
      source('{url: git@example.com:a, ssh: {keyFile: "a$b", knownHostsFile: h}}'),
      ['relay.yaml:6:48: error: ssh reads no path with ", $, \\ or a control character'],
    ],
    ...[
      'git@-oProxyCommand=x:a',
      '"git@example.com:-a"',
      'ssh://-oProxyCommand=x/a',
      'ssh://%2doProxyCommand=x@example.com/a',
      'ssh://git:secret@example.com/a',
      'ssh://git@example.com',
      'ssh://git@example.com/a?b',
      'g;it@example.com:a',
    ].map((url): [string, string[]] => [
      source(`{url: ${url}, ssh: {keyFile: k, knownHostsFile: h}}`),
      [
        'relay.yaml:6:14: error: an SSH address must be USER@HOST:PATH or ssh://[USER@]HOST[:PORT]/PATH, without a password, "?" and "#"',
      ],
    ]),
    [source('{url: --upload-pack=x}'), ['relay.yaml:6:14: error: the address must not begin with "-"']],
    [
      source('{url: /srv/a, path: a/../b}'),
      [
        'relay.yaml:6:28: error: the path must be a folder inside the repository, separated by "/", without "." and ".."',
      ],
    ],
    [
      source('{url: /srv/a, credentials: {tokenEnv: A, tokenFile: b}}'),
      [
        'relay.yaml:6:35: error: sources[0].git.credentials needs exactly one of passwordEnv, passwordFile, tokenEnv, tokenFile',
      ],
    ],
    [
      source('{url: /srv/a, credentials: {passwordEnv: A}}'),
      ['relay.yaml:6:35: error: a password needs a user name: username, usernameEnv or usernameFile'],
    ],
    [
      source('{url: /srv/a, credentials: {token: A}}'),
      [
        'relay.yaml:6:35: error: sources[0].git.credentials needs exactly one of passwordEnv, passwordFile, tokenEnv, tokenFile',
        'relay.yaml:6:36: error: sources[0].git.credentials.token is not a field that is known here (did you mean tokenEnv?)',
      ],
    ],
    [
      source('{url: /srv/a, branch: fleetrelay/status/prod}'),
      ['relay.yaml:1:1: error: the status branch must not be a branch that is read as desired state'],
    ],
    [`${MINIMAL}store: {type: memory, path: x}\n`, ['relay.yaml:5:29: error: a store in memory has no path']],
    [
      `${MINIMAL}store: {type: reddis}\n`,
      ['relay.yaml:5:15: error: store.type must be one of sqlite, memory, redis (did you mean redis?)'],
    ],
    [`${MINIMAL}store: {type: redis}\n`, ['relay.yaml:5:8: error: a store of the type redis needs redis.nodes']],
    [
      `${MINIMAL}store: {redis: {nodes: ["a:0"], tls: {certFile: c}}}\n`,
      ['relay.yaml:5:16: error: redis belongs to a store of the type redis'],
    ],
    [
      `${MINIMAL}store: {type: redis, redis: {nodes: ["a:0", b], username: u, usernameEnv: U, tls: {certFile: c}}}\n`,
      [
        'relay.yaml:5:29: error: at most one of username, usernameEnv may be given',
        'relay.yaml:5:29: error: a user name needs a password: passwordEnv or passwordFile',
        'relay.yaml:5:37: error: without sentinel there is one node; a cluster of Redis servers cannot be used',
        'relay.yaml:5:38: error: a node is HOST:PORT, for example redis.example.com:6379',
        'relay.yaml:5:83: error: certFile and keyFile belong together',
      ],
    ],
    [
      `${MINIMAL}replicas: {mode: several, advertise: "https://a:b@c"}\n`,
      [
        'relay.yaml:5:18: error: several replicas need a store that they share: a store of the type redis (--store redis://HOST:PORT)',
        'relay.yaml:5:38: error: replicas.advertise must be HOST:PORT, or an address that begins with http:// or https://, without user and password',
      ],
    ],
    [
      `${MINIMAL}relay: {secrets: [{}, {secretEnv: A, secretFile: b}, {secretEnv: C}]}\n`,
      [
        'relay.yaml:5:18: error: relay.secrets must have at most 2 items',
        'relay.yaml:5:19: error: relay.secrets[0] needs exactly one of secretEnv, secretFile',
        'relay.yaml:5:23: error: relay.secrets[1] needs exactly one of secretEnv, secretFile',
      ],
    ],
    [
      `${MINIMAL}relay: {secrets: [{}, {secretEnv: A, secretFile: b}], sharedToken: {}}\n`,
      [
        'relay.yaml:5:19: error: relay.secrets[0] needs exactly one of secretEnv, secretFile',
        'relay.yaml:5:23: error: relay.secrets[1] needs exactly one of secretEnv, secretFile',
        'relay.yaml:5:68: error: relay.sharedToken needs exactly one of tokenEnv, tokenFile',
      ],
    ],
    [
      `${MINIMAL}relay: {tls: {mode: tls, clients: {caFile: a}, insecureListenAnywhere: true}}\n`,
      [
        'relay.yaml:5:35: error: agents show certificates with mode mtls only',
        'relay.yaml:5:72: error: with mode tls nothing is insecure',
      ],
    ],
    [
      `${MINIMAL}relay: {tls: {clients: {caFile: a, lifetimeSeconds: 7200}}}\n`,
      [
        'relay.yaml:5:24: error: with caFile agents bring their certificates: signing and lifetimeSeconds have no meaning',
      ],
    ],
    [
      `${MINIMAL}http: {people: [{name: a, role: read}]}\n`,
      ['relay.yaml:5:17: error: http.people[0] needs exactly one of tokenEnv, tokenFile'],
    ],
    [
      `${MINIMAL}http: {people: [{name: a, role: read, tokenEnv: A}, {name: a, role: read, tokenEnv: A}, {name: " b", role: read, tokenEnv: B}]}\n`,
      [
        'relay.yaml:5:60: error: the person a is here twice',
        'relay.yaml:5:96: error: a name has no spaces around it and no control characters',
      ],
    ],
    [
      `${MINIMAL}http: {listen: {socket: a}, tls: {certFile: a, keyFile: b}}\n`,
      ['relay.yaml:5:34: error: a Unix socket has no TLS: leave out http.tls or socket'],
    ],
    [
      `${MINIMAL}relay: {tls: {mode: none}}\nhttp: {listn: {}}\n`,
      [
        'relay.yaml:5:21: error: relay.tls.mode must be one of mtls, tls, insecure',
        'relay.yaml:6:8: error: http.listn is not a field that is known here (did you mean listen?)',
      ],
    ],
    [
      `${MINIMAL}relay: {tls: {certificate: {certFile: a}}}\n`,
      [
        'relay.yaml:5:28: error: relay.tls.certificate.keyFile is missing',
        'relay.yaml:5:28: error: relay.tls.certificate.caFile is missing',
      ],
    ],
    [`${MINIMAL}status: {git: {source: other}}\n`, ['relay.yaml:5:24: error: other is not the name of a git source']],
    [
      `${MINIMAL}status: {git: {source: fleet, url: /x}}\n`,
      ['relay.yaml:5:15: error: status.git needs at most one of source, url'],
    ],
  ])('refuses wrong configurations: %#', (text, expected) => {
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

describe('pull requests', () => {
  const withRequests = (
    requests: string,
    git = 'url: "https://git.example.com/acme/fleet.git", branch: main, hook: {secretEnv: S}',
  ) => decode(`${HEADER}fleet: {name: prod}\nsources: [{name: fleet, git: {${git}, pullRequests: ${requests}}}]\n`);
  const read = (decoded: ReturnType<typeof decode>) => {
    const [source] = decoded.config?.sources ?? [];
    return source?.type === 'git' ? source.pullRequests : undefined;
  };

  it('have the host of the repository by default', () => {
    expect(read(withRequests('{host: gitea, tokenFile: /etc/token}'))).toEqual({
      host: 'gitea',
      apiUrl: 'https://git.example.com/api/v1',
      repository: 'acme/fleet',
      token: { type: 'file', path: '/etc/token' },
      ...{ comment: true, status: true, forks: false },
    });
  });

  it.each([
    ['github', 'https://github.com/acme/fleet', 'https://api.github.com', 'acme/fleet'],
    ['github', 'https://ghe.example.com/acme/fleet.git/', 'https://ghe.example.com/api/v3', 'acme/fleet'],
    ['gitlab', 'http://lab.example.com:8080/a/b/c.git', 'http://lab.example.com:8080/api/v4', 'a/b/c'],
  ])('of %s at %s are asked for at %s', (host, url, apiUrl, repository) => {
    const git = `url: "${url}", branch: main, hook: {secretEnv: S}`;
    expect(read(withRequests(`{host: ${host}, tokenEnv: T}`, git))).toMatchObject({ apiUrl, repository });
  });

  it('can be at another address, with the certificates of the repository or others', () => {
    const git = 'url: /srv/fleet.git, branch: main, caFile: git-ca.crt, hook: {secretFile: s}';
    const host = 'host: gitea, tokenFile: t, apiUrl: "https://forge.example.com/git/api/v1/", repository: acme/fleet';
    const expected = { apiUrl: 'https://forge.example.com/git/api/v1', repository: 'acme/fleet' };
    expect(read(withRequests(`{${host}}`, git))).toMatchObject({ ...expected, caFile: 'git-ca.crt' });
    expect(read(withRequests(`{${host}, caFile: other.crt}`, git))).toMatchObject({ caFile: 'other.crt' });
  });

  it.each([
    [
      '{host: github, tokenEnv: T}',
      'url: "https://github.com/acme/fleet"',
      'need the branch of the source and its hook',
    ],
    [
      '{host: github, tokenEnv: T}',
      'url: /srv/fleet, branch: main, hook: {secretEnv: S}',
      'apiUrl and repository are needed',
    ],
    [
      '{host: github, tokenEnv: T}',
      'url: "https://github.com/fleet", branch: main, hook: {secretEnv: S}',
      'OWNER/NAME',
    ],
    ['{host: gitlab, tokenEnv: T, repository: ../fleet}', undefined, 'GROUP/NAME'],
    ['{host: gitea, tokenEnv: T, repository: "a/b?c"}', undefined, 'OWNER/NAME'],
    ['{host: github, tokenEnv: T, comment: false, status: false}', undefined, 'there is nothing to do'],
    ['{host: github, tokenEnv: T, apiUrl: "https://me:pass@x.example"}', undefined, 'must not hold a user, a password'],
    ['{host: github, tokenEnv: T, apiUrl: "file:///etc"}', undefined, 'must begin with https:// or http://'],
    ['{host: github}', undefined, 'tokenEnv'],
    ['{host: bitbucket, tokenEnv: T}', undefined, 'host'],
  ])('refuses %s', (requests, git, message) => {
    const { config, said } = withRequests(requests, git);
    expect(config).toBeUndefined();
    expect(said.join('\n')).toContain(message);
    expect(said.join('\n')).not.toContain('pass@');
  });
});
