/** The rest of a Dataplane after its type and name, or its `spec` in Kubernetes, and what Kuma says of it, in its order. */
export interface DataplaneCase {
  readonly what: string;
  readonly spec: string;
  /** `FIELD: RULE`, the field without `spec`; `ROOT` in a rule stands for what is before the field. */
  readonly violations: readonly string[];
}

/** What Kuma says of it where `root` is before the fields: `spec.` in Kubernetes, else nothing. */
export function violationsBelow(root: string, { violations }: DataplaneCase): readonly string[] {
  return violations.map((violation) => `${root}${violation.replace('ROOT', root)}`);
}

const PORT = 'port must be in the range [1, 65535]';
const POSITIVE = 'must have a positive value';
const SAME = 'serviceAddress and servicePort has to differ from address and port';
const NO_SERVICE = 'mandatory tag "kuma.io/service" is missing';
const PROTOCOLS = 'Allowed values: grpc, http, http2, kafka, tcp';
const TAG_NAME = 'tag name must consist of alphanumeric characters, dots, dashes, slashes and underscores';
const TAG_VALUE = 'tag value must consist of alphanumeric characters, dots, dashes and underscores';
const ADDRESS = 'address has to be valid IP address or domain name';
const URL_PATH = 'should be a valid URL Path';
const KINDS = 'invalid value. Available values are: MeshExternalService,MeshMultiZoneService,MeshService';
const RFC_1123 =
  "invalid characters. A lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

const networking = (...lines: readonly string[]): string =>
  ['networking:', '  address: 192.168.0.1', ...lines.map((line) => `  ${line}`)].join('\n');

const wrong = (what: string, spec: string, ...violations: readonly string[]): DataplaneCase => ({
  what,
  spec,
  violations,
});

const inbound = (what: string, fields: string, ...violations: readonly string[]): DataplaneCase =>
  wrong(
    what,
    networking('inbound:', ...fields.split('\n').map((line, index) => `${index === 0 ? '- ' : '  '}${line}`)),
    ...violations.map((each) => `networking.inbound[0].${each}`),
  );

const withTags = (what: string, tags: string, ...violations: readonly string[]): DataplaneCase =>
  inbound(what, `port: 80\ntags: {kuma.io/service: a, ${tags}}`, ...violations.map((each) => `tags${each}`));

/** Metrics of the type prometheus with such a `conf`. */
const withConf = (conf: string): string => `${networking()}\nmetrics: {type: prometheus, conf: ${conf}}`;

const metrics = (what: string, conf: string, ...violations: readonly string[]): DataplaneCase =>
  wrong(what, withConf(conf), ...violations.map((each) => `metrics.conf${each}`));

const BACKEND = 'unknown backend type. Available backends: "prometheus"';
const TOGETHER = ': skipMTLS and tls configuration cannot be defined together';
const UNPARSED = ': could not parse config: ROOTmetrics.conf';
const UINT32 = 'must be a whole number from 0 to 4294967295';
const duplicate = (index: number, name: string): string =>
  `.aggregate[${index}].name: duplicate entry: ${name}, values have to be unique`;

/** Dataplanes that break rules of Kuma, one or several. */
export const wrongDataplanes: readonly DataplaneCase[] = [
  wrong('no networking', 'probes:', 'networking: must be defined'),
  wrong('networking that is null', 'networking:', 'networking: must be defined'),
  wrong('empty networking', 'networking: {}', "networking.address: address can't be empty"),
  wrong('an address that is null', 'networking: {address: null}', "networking.address: address can't be empty"),
  wrong('an empty address', 'networking: {address: ""}', "networking.address: address can't be empty"),
  wrong('the address 0.0.0.0', 'networking: {address: 0.0.0.0}', 'networking.address: must not be 0.0.0.0 or ::'),
  wrong('the address ::', 'networking: {address: "::"}', 'networking.address: must not be 0.0.0.0 or ::'),
  wrong('an address that is no name', 'networking: {address: ..>_<..}', `networking.address: ${ADDRESS}`),
  wrong('an address with a zone', 'networking: {address: "fe80::1%eth0"}', `networking.address: ${ADDRESS}`),

  inbound('an inbound without port', 'tags: {kuma.io/service: a}', `port: ${PORT}`),
  inbound('a port that is null', 'port: null', `port: ${PORT}`),
  inbound('port 0', 'port: 0', `port: ${PORT}`),
  inbound('port 0 as text', 'port: "0"', `port: ${PORT}`),
  inbound('port -1', 'port: -1', `port: ${PORT}`),
  inbound('port 65536', 'port: 65536', `port: ${PORT}`),
  inbound('port 65536 as text', 'port: "65536"', `port: ${PORT}`),
  inbound('servicePort 65536', 'port: 1234\nservicePort: 65536', `servicePort: ${PORT}`),
  inbound('servicePort -1', 'port: 1234\nservicePort: -1', `servicePort: ${PORT}`),
  wrong(
    'ports of several inbounds',
    networking('inbound:', '- tags: {kuma.io/service: a}', '- port: 65536', '- port: 1'),
    `networking.inbound[0].port: ${PORT}`,
    `networking.inbound[1].port: ${PORT}`,
  ),
  inbound(
    'a serviceAddress that is a name',
    'port: 80\nserviceAddress: localhost',
    'serviceAddress: serviceAddress has to be valid IP address',
  ),
  inbound(
    'a serviceAddress that is the address',
    'port: 10001\nserviceAddress: 192.168.0.1',
    `serviceAddress: ${SAME}`,
  ),
  inbound(
    'a serviceAddress and servicePort that are address and port',
    'port: 10001\nserviceAddress: 192.168.0.1\nservicePort: 10001',
    `serviceAddress: ${SAME}`,
  ),
  inbound(
    "a serviceAddress that is the inbound's",
    'port: 10001\naddress: 192.168.0.2\nserviceAddress: 192.168.0.2',
    `serviceAddress: ${SAME}`,
  ),
  inbound(
    'a serviceAddress that is both addresses',
    'port: 10001\naddress: 192.168.0.1\nserviceAddress: 192.168.0.1',
    `serviceAddress: ${SAME}`,
  ),
  inbound(
    'an address of an inbound that is a name',
    'port: 80\naddress: invalid-address',
    'address: address has to be valid IP address',
  ),
  inbound('leading zeros', 'port: 80\naddress: 10.0.0.01', 'address: address has to be valid IP address'),

  withTags(
    'an unknown protocol',
    'kuma.io/protocol: not-yet',
    `["kuma.io/protocol"]: tag "kuma.io/protocol" has an invalid value "not-yet". ${PROTOCOLS}`,
  ),
  withTags(
    'a protocol without value',
    'kuma.io/protocol: null',
    `["kuma.io/protocol"]: tag "kuma.io/protocol" has an invalid value "". ${PROTOCOLS}`,
    '["kuma.io/protocol"]: tag value must be non-empty',
  ),
  withTags('a tag without name', '"": a', ': tag name must be non-empty'),
  withTags('the name of a tag', 'inv@lidT/gN%me: value', `["inv@lidT/gN%me"]: ${TAG_NAME}`),
  withTags('a tag with the value null', 'version: null', '["version"]: tag value must be non-empty'),
  withTags('a tag with an empty value', 'version: ""', '["version"]: tag value must be non-empty'),
  withTags('the value of a tag', 'tag: inv@lid+t@g', `["tag"]: ${TAG_VALUE}`),
  withTags('a slash in the value of a tag', 'tag: a/b', `["tag"]: ${TAG_VALUE}`),
  withTags(
    'tags in their order',
    'z: "", a: "", b%: "@"',
    '["a"]: tag value must be non-empty',
    `["b%"]: ${TAG_NAME}`,
    `["b%"]: ${TAG_VALUE}`,
    '["z"]: tag value must be non-empty',
  ),
  inbound('tags without a service', 'port: 80\ntags: {version: v1}', 'tags["kuma.io/service"]: tag has to exist'),
  inbound(
    'an unknown protocol of an inbound',
    'port: 80\nprotocol: smtp',
    `protocol: has an invalid value "smtp". ${PROTOCOLS}`,
  ),

  inbound(
    'a serviceProbe with zeros',
    'port: 80\nserviceProbe: {timeout: 1s, interval: "0", healthyThreshold: 5, unhealthyThreshold: 0, tcp: {}}',
    `serviceProbe.interval: ${POSITIVE}`,
    `serviceProbe.unhealthyThreshold: ${POSITIVE}`,
  ),
  inbound(
    'a serviceProbe with other zeros',
    'port: 80\nserviceProbe: {timeout: 0s, interval: 1s, healthyThreshold: "0", unhealthyThreshold: 5}',
    `serviceProbe.timeout: ${POSITIVE}`,
    `serviceProbe.healthyThreshold: ${POSITIVE}`,
  ),
  inbound(
    'a serviceProbe with negative values',
    'port: 80\nserviceProbe: {timeout: -1s, interval: -500ms, healthyThreshold: -1, unhealthyThreshold: "-1"}',
    `serviceProbe.interval: ${POSITIVE}`,
    `serviceProbe.timeout: ${POSITIVE}`,
    `serviceProbe.unhealthyThreshold: ${POSITIVE}`,
    `serviceProbe.healthyThreshold: ${POSITIVE}`,
  ),
  inbound(
    'a serviceProbe with durations beyond what a control plane holds',
    'port: 80\nserviceProbe: {timeout: 315576000001s, interval: -2562048h}',
    'serviceProbe.interval: must have a valid value',
    'serviceProbe.timeout: must have a valid value',
  ),

  wrong(
    'an admin port that an inbound has',
    networking('admin: {port: 8080}', 'inbound: [{port: 8080, servicePort: 7777, address: 127.0.0.1}]'),
    'networking.admin.port: must differ from inbound',
  ),
  wrong(
    'an admin port that an application has',
    networking(
      'admin: {port: "7777"}',
      'inbound: [{port: 8080, servicePort: 7777, serviceAddress: "::ffff:127.0.0.1"}]',
    ),
    'networking.admin.port: must differ from inbound',
  ),
  wrong(
    'an admin port that an inbound has on all addresses',
    networking('admin: {port: 8080}', 'inbound: [{port: 8080, address: "::"}]'),
    'networking.admin.port: must differ from inbound',
  ),
  wrong(
    'an admin port that an outbound has',
    networking('admin: {port: 3333}', 'outbound: [{port: 3333, tags: {kuma.io/service: redis}}]'),
    'networking.admin.port: must differ from outbound',
  ),

  wrong(
    'a delegated gateway with inbounds and listeners',
    networking(
      'inbound: [{port: 0}]',
      'gateway: {type: DELEGATED, tags: {kuma.io/service: kong}}',
      'listeners: [{port: 1}]',
    ),
    'networking.inbound: inbound cannot be defined for delegated gateways',
    'networking.listeners: listeners cannot be defined for delegated gateways',
    `networking.inbound[0].port: ${PORT}`,
  ),
  wrong(
    'a builtin gateway with everything',
    `${networking(
      'gateway: {type: BUILTIN, tags: {kuma.io/service: kong}}',
      'inbound: [{port: 1}]',
      'outbound: [{port: 1, tags: {kuma.io/service: redis}}]',
      'listeners: [{port: 1}]',
    )}\nprobes: {port: 0}`,
    'networking.inbound: inbound cannot be defined for builtin gateways',
    'networking.outbound: outbound cannot be defined for builtin gateways',
    'networking.listeners: listeners cannot be defined for builtin gateways',
    'networking.probes: probes cannot be defined for builtin gateways',
  ),
  wrong(
    'a builtin gateway, by number, with probes',
    `${networking('gateway: {type: 1}')}\nprobes: {port: 9000}`,
    'networking.probes: probes cannot be defined for builtin gateways',
  ),
  wrong(
    'a gateway whose tags have no service',
    networking('gateway: {tags: {version: "%"}}'),
    `networking.gateway.tags["version"]: ${TAG_VALUE}`,
    `networking.gateway.tags: ${NO_SERVICE}`,
  ),
  wrong(
    'a gateway with another protocol',
    networking('gateway: {tags: {kuma.io/service: kong, kuma.io/protocol: http}}'),
    'networking.gateway.tags["kuma.io/protocol"]: other values than tcp are not allowed, provided value "http"',
  ),
  wrong(
    'a gateway with an empty tag',
    networking('gateway: {tags: {kuma.io/service: kong, version: }}'),
    'networking.gateway.tags["version"]: tag value must be non-empty',
  ),

  wrong(
    'outbounds',
    networking(
      'outbound:',
      '- {tags: {kuma.io/service: redis}}',
      '- {port: 65536, address: invalid, tags: {kuma.io/service: redis}}',
      '- {port: 1}',
      '- {port: 1, tags: {}}',
      '- {port: 1, tags: {version: v/1}}',
    ),
    `networking.outbound[0].port: ${PORT}`,
    `networking.outbound[1].port: ${PORT}`,
    'networking.outbound[1].address: address has to be valid IP address',
    `networking.outbound[2].tags: ${NO_SERVICE}`,
    `networking.outbound[3].tags: ${NO_SERVICE}`,
    `networking.outbound[4].tags["version"]: ${TAG_VALUE}`,
    `networking.outbound[4].tags: ${NO_SERVICE}`,
  ),
  wrong(
    'outbounds with references',
    networking(
      'outbound:',
      '- {port: 1, backendRef: {}}',
      '- {port: 2, tags: {service: a}, backendRef: {kind: MeshService, name: redis}}',
      '- {port: 3, backendRef: {kind: MeshExternalService, labels: {a: b}}}',
    ),
    `networking.outbound[0].backendRef.kind: ${KINDS}`,
    "networking.outbound[0].backendRef: either 'name' or 'labels' should be specified",
    `networking.outbound[0].backendRef.port: ${PORT}`,
    `networking.outbound[1].backendRef.port: ${PORT}`,
    'networking.outbound[1].backendRef: both backendRef and tags/service cannot be defined',
  ),
  wrong(
    'destinations of a transparent proxy',
    networking(
      'transparentProxying:',
      '  reachableBackends:',
      '    refs:',
      '    - {kind: Something, name: first, labels: {a: b}}',
      '    - {kind: MeshService, name: first$-.kuma}',
      '    - {kind: MeshService}',
      '    - {kind: MeshService, namespace: xyz}',
    ),
    ...[
      `[0].kind: ${KINDS}`,
      '[0].labels: labels cannot be defined when name is specified',
      `[1].name: ${RFC_1123}`,
      '[2].name: name or labels are required',
      '[3].name: name is required, when namespace is defined',
    ].map((each) => `networking.transparentProxying.reachableBackends.refs${each}`),
  ),

  wrong(
    'probes',
    `${networking()}\nprobes:\n  port: 0\n  endpoints:\n${[
      '{inboundPort: 8088, inboundPath: /healthz, path: /8080/healthz}',
      '{inboundPort: 99999999, inboundPath: healthz, path: 8080/healthz}',
      '{inboundPort: 1000, inboundPath: , path: }',
      '{inboundPort: 1000, inboundPath: "/%zz", path: "/a b"}',
    ]
      .map((each) => `  - ${each}`)
      .join('\n')}`,
    `probes.port: ${PORT}`,
    `probes.endpoints[1].inboundPort: ${PORT}`,
    `probes.endpoints[1].inboundPath: ${URL_PATH}`,
    `probes.endpoints[1].path: ${URL_PATH}`,
    `probes.endpoints[2].inboundPath: ${URL_PATH}`,
    `probes.endpoints[2].path: ${URL_PATH}`,
    `probes.endpoints[3].inboundPath: ${URL_PATH}`,
  ),

  wrong('metrics of no type', `${networking()}\nmetrics: {}`, `metrics.type: ${BACKEND}`),
  wrong('metrics of a type that is null', `${networking()}\nmetrics: {type: null}`, `metrics.type: ${BACKEND}`),
  wrong(
    'metrics of an unknown type, whose conf is not read',
    `${networking()}\nmetrics: {type: statsd, conf: {port: many, aggregate: [{name: a}, {name: a}]}}`,
    `metrics.type: ${BACKEND}`,
  ),
  wrong(
    'metrics of a type in capitals',
    `${networking()}\nmetrics: {name: a, type: Prometheus}`,
    `metrics.type: ${BACKEND}`,
  ),
  metrics(
    'applications of one name',
    '{aggregate: [{name: a}, {name: b}, {name: a, port: 1}, {name: b}, {name: a}, {name: A}]}',
    duplicate(2, 'a'),
    duplicate(3, 'b'),
    duplicate(4, 'a'),
  ),
  metrics(
    'applications without names',
    '{aggregate: [{port: 1}, {name: ""}, {name: null}]}',
    duplicate(1, ''),
    duplicate(2, ''),
  ),
  metrics('skipMTLS with provided TLS', '{skipMTLS: true, tls: {mode: providedTLS}}', TOGETHER),
  metrics('no skipMTLS with provided TLS', '{skipMTLS: false, tls: {mode: 1}}', TOGETHER),
  metrics('no skipMTLS with disabled TLS', '{skipMTLS: false, tls: {mode: disabled}}', TOGETHER),
  metrics('skipMTLS with the TLS of the mesh', '{skipMTLS: true, tls: {mode: activeMTLSBackend}}', TOGETHER),
  metrics('skipMTLS with TLS of the default mode', '{skipMTLS: true, tls: {}}', TOGETHER),
  metrics('skipMTLS with TLS of a mode that is not known', '{skipMTLS: true, tls: {mode: 7}}', TOGETHER),
  metrics(
    'a pattern that is not closed',
    '{envoy: {filterRegex: "a(b"}}',
    ".envoy.filterRegex: provided regexp isn't correct: error parsing regexp: missing closing ): `a(b`",
  ),
  metrics(
    'a pattern with a look-ahead',
    '{envoy: {filterRegex: "^(?!a)"}}',
    ".envoy.filterRegex: provided regexp isn't correct: error parsing regexp: invalid or unsupported Perl syntax: `(?!`",
  ),
  metrics(
    'a pattern that is too large',
    '{envoy: {filterRegex: "((a{100}){100}){100}"}}',
    ".envoy.filterRegex: provided regexp isn't correct: the pattern is too large",
  ),
  metrics(
    'a wrong pattern and applications of one name',
    '{envoy: {filterRegex: "["}, aggregate: [{name: a}, {name: a}]}',
    ".envoy.filterRegex: provided regexp isn't correct: error parsing regexp: missing closing ]: `[`",
  ),
  metrics(
    'all that metrics can have wrong',
    '{skipMTLS: true, tls: {mode: providedTLS}, envoy: {filterRegex: "["}, aggregate: [{name: a}, {name: a}]}',
    TOGETHER,
  ),
  metrics('a port of metrics that is text', '{port: many}', `${UNPARSED}.port ${UINT32}`),
  metrics('a port of metrics below 0', '{port: -1}', `${UNPARSED}.port ${UINT32}`),
  metrics('a port of metrics that is a fraction', '{port: 1.5}', `${UNPARSED}.port ${UINT32}`),
  metrics('a path of metrics that is a number', '{path: 1}', `${UNPARSED}.path must be text`),
  metrics('skipMTLS as text', '{skipMTLS: "true"}', `${UNPARSED}.skipMTLS must be true or false`),
  metrics('tags of metrics with a number', '{tags: {a: 1}}', `${UNPARSED}.tags must be a mapping of text to text`),
  metrics('applications that are no list', '{aggregate: {name: a}}', `${UNPARSED}.aggregate must be a list`),
  metrics('an application that is text', '{aggregate: [a]}', `${UNPARSED}.aggregate[0] must be a mapping`),
  metrics(
    'an application with a wrong field',
    '{aggregate: [{name: a}, {name: a, enabled: 1}]}',
    `${UNPARSED}.aggregate[1].enabled must be true or false`,
  ),
  metrics('envoy that is a list', '{envoy: []}', `${UNPARSED}.envoy must be a mapping`),
  metrics(
    'an unknown mode of TLS',
    '{tls: {mode: delegated}}',
    `${UNPARSED}.tls.mode must be activeMTLSBackend, providedTLS, disabled, or a number`,
  ),
  wrong(
    'wrong metrics between wrong probes and listeners',
    `${networking('listeners: [{type: ZoneIngress, address: 192.168.0.1}]')}\nmetrics: {type: a}\nprobes: {port: 0}`,
    `probes.port: ${PORT}`,
    `metrics.type: ${BACKEND}`,
    `networking.listeners[0].port: ${PORT}`,
  ),
  wrong(
    'listeners one by one',
    networking(
      'listeners:',
      '- {address: 192.168.0.1, port: 1}',
      '- {type: 0, address: 192.168.0.1, port: 2}',
      '- {type: null, address: 192.168.0.1, port: 3}',
      '- {type: Zone, address: 192.168.0.1, port: 4}',
      '- {type: ZoneIngress, port: 5}',
      '- {type: 1, address: 0.0.0.0, port: 6}',
      '- {type: 2, address: not-valid!, port: 7}',
      '- {type: ZoneEgress, address: 192.168.0.1}',
      '- {type: ZoneEgress, address: 192.168.0.1, port: 65536}',
    ),
    ...[
      '[0].type: type must be ZoneIngress or ZoneEgress',
      '[1].type: type must be ZoneIngress or ZoneEgress',
      '[2].type: type must be ZoneIngress or ZoneEgress',
      '[3].type: type must be ZoneIngress or ZoneEgress',
      "[4].address: address can't be empty",
      '[5].address: must not be 0.0.0.0 or ::',
      `[6].address: ${ADDRESS}`,
      `[7].port: ${PORT}`,
      `[8].port: ${PORT}`,
    ].map((each) => `networking.listeners${each}`),
  ),
  wrong(
    'names and addresses of listeners',
    networking(
      'inbound: [{port: 80, name: http}, {port: 81}]',
      'listeners:',
      '- {type: ZoneIngress, address: 192.168.0.1, port: 10001, name: http}',
      '- {type: ZoneIngress, address: 192.168.0.1, port: 10001, name: "81"}',
      '- {type: ZoneEgress, address: 192.168.0.1, port: 10001, name: main}',
      '- {type: ZoneEgress, address: 192.168.0.1, port: 80, name: main}',
      '- {type: ZoneEgress, address: 192.168.0.2, port: 80}',
    ),
    ...[
      '[0].name: name "http" must be unique across inbounds and listeners',
      '[1].name: name "81" must be unique across inbounds and listeners',
      '[1]: address:port 192.168.0.1:10001 is already used by another listener',
      '[2]: address:port 192.168.0.1:10001 is used by listeners of different types',
      '[3].name: name "main" must be unique across inbounds and listeners',
      '[3]: address:port 192.168.0.1:80 collides with an inbound listener',
    ].map((each) => `networking.listeners${each}`),
  ),
  wrong(
    'a bit of everything',
    `networking:
  address: ..
  inbound:
  - {port: 0, servicePort: 65536, address: a, serviceAddress: b, tags: {a: ''}, protocol: x}
  - {port: 1, serviceProbe: {interval: 0s}}
  outbound:
  - {}
  listeners:
  - {}
probes: {}`,
    `networking.address: ${ADDRESS}`,
    `networking.inbound[0].port: ${PORT}`,
    `networking.inbound[0].servicePort: ${PORT}`,
    'networking.inbound[0].serviceAddress: serviceAddress has to be valid IP address',
    'networking.inbound[0].address: address has to be valid IP address',
    'networking.inbound[0].tags["a"]: tag value must be non-empty',
    `networking.inbound[0].protocol: has an invalid value "x". ${PROTOCOLS}`,
    'networking.inbound[0].tags["kuma.io/service"]: tag has to exist',
    `networking.inbound[1].serviceProbe.interval: ${POSITIVE}`,
    `networking.outbound[0].port: ${PORT}`,
    `networking.outbound[0].tags: ${NO_SERVICE}`,
    `probes.port: ${PORT}`,
    'networking.listeners[0].type: type must be ZoneIngress or ZoneEgress',
    "networking.listeners[0].address: address can't be empty",
    `networking.listeners[0].port: ${PORT}`,
  ),
];

/** Specs of Dataplanes that break no rule of Kuma. */
export const rightDataplanes: Readonly<Record<string, string>> = {
  'only an address': 'networking: {address: 192.168.0.1}',
  'a host name': 'networking: {address: example.com}',
  'a name with an underscore': 'networking: {address: _a.example_1.com.}',
  'an address of IPv6': 'networking: {address: "0:0:0:0:0:FFFF:C0A8:0001"}',
  'an inbound without tags': networking('inbound: [{port: 8080}]'),
  'empty tags': networking('inbound: [{port: 8080, tags: {}}]', 'gateway: null'),
  'the largest port': networking('inbound: [{port: 65535, servicePort: 0}]'),
  'ports as text': networking('inbound: [{port: "8080", servicePort: "0"}]'),
  'all that an inbound has': networking(
    'inbound:',
    '- port: 10001',
    '  servicePort: 5050',
    '  serviceAddress: 192.168.0.2',
    '  address: 1.1.1.1',
    '  name: http',
    '  protocol: HTTP2',
    '  state: Ignored',
    '  health: {ready: false}',
    '  serviceProbe: {interval: 1s, timeout: 1m30s, healthyThreshold: 1, unhealthyThreshold: "5", tcp: {}}',
    '  tags: {kuma.io/service: a, kuma.io/protocol: MySQL, kuma.io/valid: "abc.0123-789.under_score:90", a/b: c}',
  ),
  'nulls for zero values': `${networking(
    'advertisedAddress: null',
    'admin: null',
    'inbound: [{port: 1, servicePort: null, address: null, tags: null, health: null, serviceProbe: null, state: null, name: null}]',
    'outbound: null',
    'gateway: null',
    'transparentProxying: null',
    'listeners: null',
  )}\nprobes: null`,
  'the same address with another port': networking(
    'inbound: [{port: 10001, address: 192.168.0.2, serviceAddress: 192.168.0.2, servicePort: 10002}]',
  ),
  'a serviceProbe of defaults': networking(
    'inbound: [{port: 1, serviceProbe: {interval: null, healthyThreshold: null}}]',
  ),
  'a gateway without tags': networking('gateway: {type: DELEGATED, tags: {}}'),
  'a delegated gateway': `${networking(
    'gateway: {tags: {kuma.io/service: kong, kuma.io/protocol: TCP, version: "1"}}',
    'outbound: [{port: 3333, tags: {kuma.io/service: redis}}]',
  )}\nprobes: {port: 9000, endpoints: [{inboundPort: 8080, inboundPath: "/healthz?a=b", path: "http://a/b"}]}`,
  'a builtin gateway': networking('gateway: {type: BUILTIN, tags: {kuma.io/service: kong}}'),
  'an admin port that is used on another address': networking(
    'admin: {port: 8080}',
    'inbound: [{port: 8080, servicePort: 7777}]',
    'outbound: [{port: 8080, address: 192.168.0.1, tags: {kuma.io/service: redis}}]',
  ),
  'outbounds with references': networking(
    'outbound:',
    '- {port: 1, backendRef: {kind: MeshService, name: xyz, port: 80}}',
    '- {port: 2, backendRef: {kind: MeshExternalService, name: xyz}}',
    '- {port: 3, backendRef: {kind: MeshMultiZoneService, labels: {a: null}, port: 80}}',
  ),
  'destinations of a transparent proxy': networking(
    'transparentProxying:',
    '  reachableBackends:',
    '    refs: [{kind: MeshService, name: a, port: 9090}, {kind: MeshService, labels: {a: b}}]',
  ),
  'metrics of no conf': `${networking()}\nmetrics: {type: prometheus}`,
  'metrics that are null': `${networking()}\nmetrics: null`,
  'all that metrics have': withConf(
    '{port: 5670, path: /metrics, tags: {kuma.io/service: a}, skipMTLS: null, later: 1, aggregate: [{name: a, port: "1234", path: /, enabled: false, address: 10.0.0.1}, {name: b}], envoy: {filterRegex: "^server[0-9]+", usedOnly: true}, tls: {mode: providedTLS}}',
  ),
  'skipMTLS and TLS that say the same': withConf('{skipMTLS: true, tls: {mode: disabled}}'),
  'no skipMTLS and the TLS of the mesh': withConf('{skipMTLS: false, tls: {}}'),
  'skipMTLS alone': withConf('{skipMTLS: true}'),
  'an unknown mode of TLS by number': withConf('{tls: {mode: 7}}'),
  'a delegated gateway whose metrics Kuma does not check': `${networking('gateway: {}')}\nmetrics: {type: a}`,
  'a builtin gateway whose metrics Kuma does not check': `${networking('gateway: {type: BUILTIN}')}\nmetrics: {type: prometheus, conf: {port: a}}`,
  listeners: networking(
    'inbound: [{port: 8080, name: http}]',
    'listeners:',
    '- {type: ZoneIngress, address: 192.168.0.1, port: 10001, name: main}',
    '- {type: 2, address: proxy.example.com, port: "10001", state: NotReady}',
  ),
};
