import type { Addition, Rule } from './form.ts';

/*
 * What an API server can check of the rules of Kuma. It cannot check what would cost too much in CEL (texts without a limit in
 * lists without a limit), nor what needs functions that Kubernetes 1.27 does not have; nor does it see names in snake_case.
 */

const NETWORKING = ['spec', 'networking'];
const INBOUND = [...NETWORKING, 'inbound', '[]'];
const OUTBOUND = [...NETWORKING, 'outbound', '[]'];
const LISTENER = [...NETWORKING, 'listeners', '[]'];
const ENDPOINT = ['spec', 'probes', 'endpoints', '[]'];
const REFERENCE = [...NETWORKING, 'transparentProxying', 'reachableBackends', 'refs', '[]'];

const PORT = 'port must be in the range [1, 65535]';

/** That a field is neither absent nor null; CEL knows no type that includes null. */
const has = (field: string): string => `(has(self.${field}) && dyn(self.${field}) != null)`;
const hasItems = (field: string): string => `(${has(field)} && size(self.${field}) > 0)`;
const hasText = (field: string): string => `(${has(field)} && self.${field} != '')`;

const BUILTIN = `(${has('gateway')} && ${has('gateway.type')} && (self.gateway.type == 'BUILTIN' || self.gateway.type == 1))`;
const IS = { builtin: BUILTIN, delegated: `(${has('gateway')} && !${BUILTIN})` };
const gateway = (type: keyof typeof IS, field: string): Rule => ({
  at: NETWORKING,
  rule: `!${hasItems(field)} || !${IS[type]}`,
  message: `${field} cannot be defined for ${type} gateways`,
  fieldPath: `.${field}`,
});

const named = (at: readonly string[], field: string, message: string): Rule => ({
  at,
  rule: `!${hasItems(field)} || 'kuma.io/service' in self.${field}`,
  message,
  fieldPath: `.${field}`,
});
const NO_SERVICE = 'mandatory tag "kuma.io/service" is missing';

const host = (at: readonly string[]): Rule => ({
  at,
  rule: "self != '0.0.0.0' && self != '::'",
  message: 'must not be 0.0.0.0 or ::',
});

export const dataplaneRules: readonly Rule[] = [
  host([...NETWORKING, 'address']),
  host([...LISTENER, 'address']),
  named(INBOUND, 'tags', 'tag has to exist'),
  gateway('delegated', 'inbound'),
  gateway('delegated', 'listeners'),
  gateway('builtin', 'inbound'),
  gateway('builtin', 'outbound'),
  gateway('builtin', 'listeners'),
  {
    at: ['spec'],
    rule: `!${has('probes')} || !${BUILTIN.replaceAll('self.', 'self.networking.')}`,
    message: 'probes cannot be defined for builtin gateways',
    fieldPath: '.probes',
  },
  named([...NETWORKING, 'gateway'], 'tags', NO_SERVICE),
  {
    at: [...NETWORKING, 'gateway'],
    rule: `!${has('tags')} || !('kuma.io/protocol' in self.tags) || self.tags['kuma.io/protocol'].lowerAscii() == 'tcp'`,
    message: 'other values than tcp are not allowed',
    fieldPath: '.tags',
  },
  {
    at: OUTBOUND,
    rule: `${has('backendRef')} || (${has('tags')} && 'kuma.io/service' in self.tags)`,
    message: NO_SERVICE,
    fieldPath: '.tags',
  },
  {
    at: OUTBOUND,
    rule: `!${has('backendRef')} || !${hasItems('tags')}`,
    message: 'both backendRef and tags/service cannot be defined',
    fieldPath: '.backendRef',
  },
  {
    at: [...OUTBOUND, 'backendRef'],
    rule: `${hasText('name')} || ${hasItems('labels')}`,
    message: "either 'name' or 'labels' should be specified",
  },
  {
    at: [...OUTBOUND, 'backendRef'],
    rule: `self.kind == 'MeshExternalService' || (${has('port')} && int(self.port) >= 1 && int(self.port) <= 65535)`,
    message: PORT,
    fieldPath: '.port',
  },
  {
    at: REFERENCE,
    rule: `${hasText('name')} || ${hasText('namespace')} || ${hasItems('labels')}`,
    message: 'name or labels are required',
    fieldPath: '.name',
  },
  {
    at: REFERENCE,
    rule: `${hasText('name')} || !${hasText('namespace')}`,
    message: 'name is required, when namespace is defined',
    fieldPath: '.name',
  },
  {
    at: REFERENCE,
    rule: `!(${hasText('name')} || ${hasText('namespace')}) || !${hasItems('labels')}`,
    message: 'labels cannot be defined when name is specified',
    fieldPath: '.labels',
  },
];

/** Fields that must be there, and not be null. */
const required = (at: readonly string[], ...fields: readonly string[]): readonly Addition[] => [
  { at, keywords: { required: fields } },
  ...fields.map((field) => ({ at: [...at, field], keywords: { nullable: false } })),
];

/** From 1 to 65535. */
const PORT_TEXT = '0*([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])';
const A_PORT = { minimum: 1, maximum: 65535, pattern: `^${PORT_TEXT}$` };
const KIND = { enum: ['MeshExternalService', 'MeshMultiZoneService', 'MeshService'] };
const IP = {
  maxLength: 45,
  anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }, { maxLength: 0 }],
  // API servers take leading zeros.
  not: { pattern: '(^|[.:])0[0-9]+[.]|[.]0[0-9]+$' },
};
const HOST = {
  minLength: 1,
  anyOf: [
    { format: 'ipv6' },
    { pattern: '^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62}([.][a-zA-Z0-9_][a-zA-Z0-9_-]{0,62})*[._]?$' },
  ],
};
const TAG = { minLength: 1, pattern: '^[a-zA-Z0-9.:_-]*$' };
const POSITIVE = { minimum: 1, pattern: '^0*[1-9][0-9]*$' };
const DURATION = { allOf: [{ pattern: '^[^-]*[1-9]' }] };
const PATH = { pattern: '^(/|[A-Za-z][A-Za-z0-9+.-]*:|[*]$)' };

export const dataplaneAdditions: readonly Addition[] = [
  { at: ['mesh'], keywords: { pattern: '^[0-9a-z_.-]*$', maxLength: 253 } },
  ...required([], 'spec'),
  ...required(['spec'], 'networking'),
  ...required(NETWORKING, 'address'),
  ...required(INBOUND, 'port'),
  ...required(OUTBOUND, 'port'),
  ...required([...OUTBOUND, 'backendRef'], 'kind'),
  ...required(REFERENCE, 'kind'),
  ...required(LISTENER, 'type', 'address', 'port'),
  ...required(['spec', 'probes'], 'port'),
  ...required(ENDPOINT, 'path'),
  ...[INBOUND, OUTBOUND, LISTENER, ['spec', 'probes']].map((at) => ({ at: [...at, 'port'], keywords: A_PORT })),
  { at: [...ENDPOINT, 'inboundPort'], keywords: A_PORT },
  { at: [...INBOUND, 'servicePort'], keywords: { ...A_PORT, minimum: 0, pattern: `^(0+|${PORT_TEXT})$` } },
  { at: [...OUTBOUND, 'backendRef', 'kind'], keywords: KIND },
  { at: [...REFERENCE, 'kind'], keywords: KIND },
  { at: [...LISTENER, 'type'], keywords: { enum: ['ZoneIngress', 'ZoneEgress', 1, 2] } },
  { at: [...NETWORKING, 'address'], keywords: HOST },
  { at: [...LISTENER, 'address'], keywords: HOST },
  { at: [...INBOUND, 'address'], keywords: IP },
  { at: [...INBOUND, 'serviceAddress'], keywords: IP },
  { at: [...OUTBOUND, 'address'], keywords: IP },
  ...[INBOUND, OUTBOUND, [...NETWORKING, 'gateway']].map((at) => ({ at: [...at, 'tags', '{}'], keywords: TAG })),
  { at: [...INBOUND, 'protocol'], keywords: { pattern: '^(?i:grpc|http|http2|kafka|tcp|tls|mysql)?$' } },
  { at: [...INBOUND, 'serviceProbe', 'unhealthyThreshold'], keywords: POSITIVE },
  { at: [...INBOUND, 'serviceProbe', 'healthyThreshold'], keywords: POSITIVE },
  { at: [...INBOUND, 'serviceProbe', 'interval'], keywords: DURATION },
  { at: [...INBOUND, 'serviceProbe', 'timeout'], keywords: DURATION },
  { at: [...ENDPOINT, 'inboundPath'], keywords: PATH },
  { at: [...ENDPOINT, 'path'], keywords: PATH },
];
