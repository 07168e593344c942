import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { isJsonObject, type JsonValue } from '../../../../src/model/text/json.ts';
import { rightDataplanes, violationsBelow, wrongDataplanes } from '../../../support/dataplanes.ts';
import { decodeFile } from '../../../support/decode-file.ts';
import { bytesOf, complaints, contentOf } from '../../../support/decoding.ts';

/** Both wire forms of a spec. */
const FORMS = {
  Universal: { root: '', write: (spec: string) => `type: Dataplane\nname: dp-1\n${spec}\n` },
  Kubernetes: {
    root: 'spec.',
    write: (spec: string) =>
      `apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmetadata: {name: dp-1, namespace: shop}\nspec:\n${spec.replaceAll(/^/gm, '  ')}\n`,
  },
};

/** Where another parser of YAML finds a field: its value, its key if it has no text, its nearest parent if it is missing. */
function placeOf(text: string, field: string): { readonly line: number; readonly col: number } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  // Kuma says that the probes are part of the networking.
  const path = [...field.replace('networking.probes', 'probes').matchAll(/\["([^"]*)"\]|\[(\d+)\]|([^.[\]]+)/g)].map(
    ([, key, index, name]) => (index === undefined ? (key ?? name) : Number(index)),
  );
  let offset = 0;
  for (const [length] of [undefined, ...path].entries()) {
    const parent = document.getIn(path.slice(0, Math.max(0, length - 1)), true);
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && key.value === path[length - 1])
      : undefined;
    const node = document.getIn(path.slice(0, length), true);
    if (!isNode(node)) break;
    const [start = 0, end] = node.range ?? [];
    offset = start === end && isNode(pair?.key) ? (pair.key.range?.[0] ?? 0) : start;
  }
  return lines.linePos(offset);
}

describe.each(Object.entries(FORMS))('a Dataplane in the form of %s', (_form, { root, write }) => {
  it.each(wrongDataplanes)('that has $what breaks rules of Kuma', (wrong) => {
    const text = write(wrong.spec);
    const expected = violationsBelow(root, wrong).map((message) => {
      // A problem of parsing names the field after the part that Kuma could not parse.
      const field = /could not parse config: (\S+)/.exec(message)?.[1] ?? message.slice(0, message.indexOf(': '));
      return { message, ...placeOf(text, field) };
    });
    const inFile = expected.toSorted((a, b) => a.line - b.line || a.col - b.col);
    expect(complaints(text)).toEqual(
      inFile.map(({ message, line, col }) => `a.yaml:${line}:${col}: error: ${message}`),
    );
  });

  it.each(Object.entries(rightDataplanes))('that has %s is right', (_what, spec) => {
    expect(complaints(write(spec))).toEqual([]);
    expect(contentOf(write(spec))).toMatchObject({ type: 'declaration', kind: 'Dataplane' });
  });
});

describe('a Dataplane', () => {
  it('is complained of at each wrong value, in both spellings of a field', () => {
    const text = `type: Dataplane
name: web
networking:
  inbound:
    - port: 0
      service_port: 65536
      service_probe:
        unhealthy_threshold: 0
      tags:
        version:
    - serviceProbe: {interval: -1s}
  transparent_proxying:
    reachable_backends: {refs: [{kind: Any, name: a}]}
probes:
  port: 9000
  endpoints:
    - {inbound_port: 0, inbound_path: a, path: /a}
`;
    expect(complaints(text)).toEqual([
      `a.yaml:4:3: error: networking.address: address can't be empty`,
      'a.yaml:5:13: error: networking.inbound[0].port: port must be in the range [1, 65535]',
      'a.yaml:6:21: error: networking.inbound[0].servicePort: port must be in the range [1, 65535]',
      'a.yaml:8:30: error: networking.inbound[0].serviceProbe.unhealthyThreshold: must have a positive value',
      'a.yaml:10:9: error: networking.inbound[0].tags["version"]: tag value must be non-empty',
      'a.yaml:10:9: error: networking.inbound[0].tags["kuma.io/service"]: tag has to exist',
      'a.yaml:11:7: error: networking.inbound[1].port: port must be in the range [1, 65535]',
      'a.yaml:11:32: error: networking.inbound[1].serviceProbe.interval: must have a positive value',
      'a.yaml:13:40: error: networking.transparentProxying.reachableBackends.refs[0].kind: invalid value. Available values are: MeshExternalService,MeshMultiZoneService,MeshService',
      'a.yaml:17:22: error: probes.endpoints[0].inboundPort: port must be in the range [1, 65535]',
      'a.yaml:17:39: error: probes.endpoints[0].inboundPath: should be a valid URL Path',
    ]);
  });

  it('with values of wrong types is told of them, and of its other violations', () => {
    const text = `type: Dataplane
name: 1
networking:
  address: 5
  later: 1
  inbound:
    - {port: eighty, tags: {kuma.io/service: web, version: 1}, state: Someday}
    - {port: 80.5, tags: [a]}
    - {port: 0, serviceProbe: {interval: 1 s, timeout: 5, tcp: []}}
    - text
  listeners: {}
  gateway: []
probes: {port: 0, endpoints: [{inboundPath: 1}]}
`;
    expect(complaints(text).map((line) => line.replace(/ \(.*/, ''))).toEqual([
      'a.yaml:2:7: error: name must be text, not a number',
      'a.yaml:4:12: error: networking.address must be text, not a number',
      'a.yaml:5:3: warning: networking.later is not a field that is known here',
      'a.yaml:7:14: error: networking.inbound[0].port does not have the right form, which is for example 11011',
      'a.yaml:7:60: error: networking.inbound[0].tags.version must be text, not a number',
      'a.yaml:7:71: error: networking.inbound[0].state must be one of Ready, NotReady, Ignored',
      'a.yaml:8:14: error: networking.inbound[1].port must be a whole number or text, not a fraction',
      'a.yaml:8:26: error: networking.inbound[1].tags must be a mapping, not a list',
      'a.yaml:9:14: error: networking.inbound[2].port: port must be in the range [1, 65535]',
      'a.yaml:9:42: error: networking.inbound[2].serviceProbe.interval does not have the right form, which is for example "1s"',
      'a.yaml:9:56: error: networking.inbound[2].serviceProbe.timeout must be text, not a number',
      'a.yaml:9:64: error: networking.inbound[2].serviceProbe.tcp must be a mapping, not a list',
      'a.yaml:10:7: error: networking.inbound[3] must be a mapping, not text',
      'a.yaml:11:14: error: networking.listeners must be a list, not a mapping',
      'a.yaml:12:12: error: networking.gateway must be a mapping, not a list',
      'a.yaml:13:16: error: probes.port: port must be in the range [1, 65535]',
      'a.yaml:13:31: error: probes.endpoints[0].inboundPort: port must be in the range [1, 65535]',
      'a.yaml:13:31: error: probes.endpoints[0].path: should be a valid URL Path',
      'a.yaml:13:45: error: probes.endpoints[0].inboundPath must be text, not a number',
    ]);
  });

  const NAME =
    "invalid characters. A lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  const MESH = "invalid characters. Valid characters are numbers, lowercase latin letters and '-', '_', '.' symbols.";
  it.each([
    ['type: Dataplane', ['1:1: error: name: cannot be empty']],
    ['type: Dataplane\nname: ""', ['2:7: error: name: cannot be empty']],
    ['type: Dataplane\nname: null', ['2:7: error: name: cannot be empty']],
    ['type: Dataplane\nname: Web', [`2:7: error: name: ${NAME}`]],
    [`type: Dataplane\nname: ${'a'.repeat(254)}`, ['2:7: error: name: value length must less or equal 253']],
    ['type: Dataplane\nname: a\nmesh: null', []],
    ['type: Dataplane\nname: a\nmesh: ""', []],
    ['type: Dataplane\nname: a\nmesh: a_b.c-1', []],
    ['type: Dataplane\nname: a\nmesh: A', [`3:7: error: mesh: ${MESH}`]],
    [`type: Dataplane\nname: a\nmesh: ${'a'.repeat(254)}`, ['3:7: error: mesh: value length must less or equal 253']],
  ])('has the name and mesh of Kuma: %s', (header, expected) => {
    expect(complaints(`${header}\nnetworking: {address: a}\n`)).toEqual(expected.map((line) => `a.yaml:${line}`));
  });

  it('has the name and mesh of Kuma in Kubernetes', () => {
    const written = 'apiVersion: kuma.io/v1alpha1\nkind: Dataplane\nmesh: A\nmetadata: METADATA\n';
    expect(complaints(written.replace('METADATA', '{name: Web}'))).toEqual([
      'a.yaml:1:1: error: spec.networking: must be defined',
      `a.yaml:3:7: error: mesh: ${MESH}`,
      `a.yaml:4:18: error: metadata.name: ${NAME}`,
    ]);
    expect(complaints(written.replace('metadata: METADATA', 'spec: {networking: {address: a}}'))).toEqual([
      'a.yaml:1:1: error: metadata.name: cannot be empty',
      `a.yaml:3:7: error: mesh: ${MESH}`,
    ]);
  });

  it('with two inbounds on one address and port is warned of', () => {
    const text = `type: Dataplane
name: web
networking:
  address: 10.0.0.1
  inbound:
    - {port: 80}
    - {port: 80, address: 10.0.0.2}
    - {port: "80", address: 10.0.0.1}
    - {port: 81}
    - {port: 80}
`;
    expect(complaints(text)).toEqual([
      'a.yaml:8:7: warning: networking.inbound[2]: it has the address and port of networking.inbound[0]',
      'a.yaml:10:7: warning: networking.inbound[4]: it has the address and port of networking.inbound[0]',
    ]);
  });

  it('of any JSON is read or complained of, and what is read has its ports', () => {
    const FIELDS =
      'networking address inbound outbound gateway listeners admin port servicePort serviceAddress tags type state health ready serviceProbe interval timeout probes endpoints transparentProxying reachableBackends refs kuma.io/service name kind';
    const { any } = fc.letrec<{ any: JsonValue }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 6 },
        fc.constantFrom<JsonValue>(null, 0, 80, -1, 65_536, '80', '', '1s', 'ZoneIngress', '10.0.0.1', true),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...FIELDS.split(' ')), tie('any'), { maxKeys: 6 }),
      ),
    }));
    let readable = 0;
    fc.assert(
      fc.property(any, any, any, (first, second, rest) => {
        const inbound = [first, second].map((each) => ({ port: 80, ...(isJsonObject(each) ? each : {}) }));
        const networking = { address: '10.0.0.1', inbound, ...(isJsonObject(rest) ? rest : {}) };
        const document = JSON.stringify({ type: 'Dataplane', name: 'a', networking });
        const { reading, diagnostics } = decodeFile('a.json', bytesOf(document), 'blob');
        if (!reading.readable) return diagnostics.some(({ severity }) => severity === 'error');
        const content = reading.documents[0]?.content;
        if (content?.type !== 'declaration' || content.kind !== 'Dataplane') return false;
        readable += 1;
        const { inbounds, listeners } = content.value.dataplane;
        return [...inbounds, ...listeners].every(({ port }) => port > 0 && port < 65_536);
      }),
      { numRuns: 2_000 },
    );
    expect(readable).toBeGreaterThan(100);
  });

  it('is handed on with its defaults, and with what it says', () => {
    const text = `apiVersion: kuma.io/v1alpha1
kind: Dataplane
mesh: m
metadata: {name: web, namespace: shop}
spec:
  later: 1
  metrics: {type: prometheus}
  networking:
    address: 10.0.0.1
    gateway: null
    inbound: [{port: "80", service_port: 8080, tags: {kuma.io/service: web}, later: 1}]
`;
    expect(contentOf(text)).toEqual({
      type: 'declaration',
      kind: 'Dataplane',
      key: 'shop/web',
      namespace: 'shop',
      name: 'web',
      value: {
        dataplane: {
          mesh: 'm',
          name: 'web.shop',
          inbounds: [
            {
              address: '10.0.0.1',
              port: 80,
              workload: { address: '10.0.0.1', port: 8080 },
              service: 'web',
              tags: { 'kuma.io/service': 'web' },
              state: 'Ready',
            },
          ],
          listeners: [],
        },
        spec: {
          networking: {
            address: '10.0.0.1',
            inbound: [{ port: '80', servicePort: 8080, tags: { 'kuma.io/service': 'web' } }],
          },
        },
      },
    });
  });
});
