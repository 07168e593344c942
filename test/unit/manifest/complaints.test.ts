import { describe, expect, it } from 'vitest';
import { complaints } from '../../support/decoding.ts';

/** A manifest and all its diagnostics. */
type Case = readonly [title: string, text: string, complaints: readonly string[]];

const HEADER = 'apiVersion: fleetrelay.dev/v1alpha1\nkind: Placement\nmetadata: {name: p}\n';
const IGNORE = 'if the file is no manifest, list it in .fleetrelayignore';

const KEY_AS_VALUE =
  'a key with a value cannot be the value of a key on the same line (put a text that holds a colon and a space in quotes, or begin the second key on the next line)';

const IDENTITY: readonly Case[] = [
  [
    'no manifest',
    'name: CI\njobs: {}\n',
    [
      '1:1: warning: the file is not read: it has neither apiVersion nor kind (list it in .fleetrelayignore to be told no more)',
    ],
  ],
  [
    'a list',
    '- a\n- b\n',
    [
      '1:1: warning: the file is not read: it has neither apiVersion nor kind (list it in .fleetrelayignore to be told no more)',
    ],
  ],
  ['no kind', 'apiVersion: v1\nmetadata: {name: a}\n', [`1:1: error: kind is missing (${IGNORE})`]],
  ['no metadata', 'apiVersion: v1\nkind: Pod\n', ['1:1: error: metadata is missing']],
  ['no name', 'apiVersion: v1\nkind: Pod\nmetadata: {labels: {}}\n', ['3:11: error: metadata.name is missing']],
  [
    'a number as a name',
    'apiVersion: v1\nkind: Pod\nmetadata:\n  name: 12\n',
    ['4:9: error: metadata.name must be text, not a number (quote it)'],
  ],
  [
    'a generated name',
    'apiVersion: v1\nkind: Pod\nmetadata:\n  generateName: web-\n',
    ['4:17: error: metadata.generateName gives the object another name at each apply (give it a fixed metadata.name)'],
  ],
  [
    'a name that leads out of its folder',
    'apiVersion: v1\nkind: Pod\nmetadata:\n  name: ../../etc\n',
    ['4:9: error: name "../../etc" holds a "/", "%", "\\" or control character'],
  ],
  [
    'a bad namespace',
    'apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: ../b\n',
    ['5:14: error: namespace "../b" is not a DNS label'],
  ],
  [
    'a bad apiVersion',
    'apiVersion: a/b/c\nkind: Pod\nmetadata: {name: a}\n',
    ['1:13: error: apiVersion "a/b/c" is not "version" or "group/version"'],
  ],
  [
    'a bad kind',
    'apiVersion: v1\nkind: Po/d\nmetadata: {name: a}\n',
    ['2:7: error: kind "Po/d" is not a letter followed by letters and digits'],
  ],
  [
    'labels that are no text, and bad ones',
    'apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: {ok: yes, n: 1, "a b": c, v: "-"}\n  annotations: {"/x": "", on: true}\n',
    [
      '5:16: error: metadata.labels["ok"] must be text, not true or false: yes is read as the boolean true (write it in quotes)',
      '5:21: warning: the key n is read as "false", as kubectl does, but not by all tools (write "n" in quotes)',
      '5:24: error: metadata.labels["false"] must be text, not a number: the key n is read as "false" (quote it)',
      '5:27: error: metadata.labels: the key "a b" must be 1 to 63 letters, digits, "-", "_" or ".", and begin and end with a letter or digit',
      '5:40: error: metadata.labels["v"]: the value "-" must be empty or 1 to 63 letters, digits, "-", "_" or ".", and begin and end with a letter or digit',
      '6:17: error: metadata.annotations: the prefix of the key "/x" must be a DNS name of at most 253 characters',
      '6:27: warning: the key on is read as "true", as kubectl does, but not by all tools (write "on" in quotes)',
      '6:31: error: metadata.annotations["true"] must be text, not true or false: the key on is read as "true" (quote it)',
    ],
  ],
  [
    'values of annotations of fleetrelay that have no effect',
    'apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    fleetrelay.dev/drift: reprot\n    fleetrelay.dev/adopt: "True"\n    fleetrelay.dev/prune: never\n    fleetrelay.dev/reconcile: disabled\n    fleetrelay.dev/replace: "false"\n',
    [
      '6:27: warning: metadata.annotations["fleetrelay.dev/drift"]: "reprot" has no effect; known are repair, report (did you mean report?)',
      '7:27: warning: metadata.annotations["fleetrelay.dev/adopt"]: "True" has no effect; known are true, false (did you mean true?)',
      '8:27: warning: metadata.annotations["fleetrelay.dev/prune"]: "never" has no effect; known are disabled, enabled',
    ],
  ],
  [
    'modes of drift as a policy and as an annotation writes them',
    'apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    fleetrelay.dev/drift: Report\n',
    [],
  ],
  [
    'numbers in a ConfigMap',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  port: 80\n',
    ['5:9: error: data["port"] must be text, not a number (quote it)'],
  ],
  [
    'keys of a ConfigMap without value',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  port:\n',
    ['5:3: warning: data["port"] has no value; an API server reads it as an empty text (write "")'],
  ],
];

const ENGINE_KINDS: readonly Case[] = [
  [
    'another version',
    'apiVersion: admin.gloo.solo.io/v1\nkind: KubernetesCluster\nmetadata: {name: a}\n',
    [
      '1:13: error: the version "admin.gloo.solo.io/v1" of KubernetesCluster is not known; known is admin.gloo.solo.io/v2',
    ],
  ],
  [
    'a misspelt kind of our own',
    'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolcy\nmetadata: {name: a}\n',
    [
      '2:7: error: the kind "FleetPolcy" of fleetrelay.dev is not known; known are FleetPolicy, Placement, RemovalApproval, ServiceMirror (did you mean FleetPolicy?)',
    ],
  ],
  [
    "the server's own file",
    'apiVersion: fleetrelay.dev/v1alpha1\nkind: RelayConfig\nfleet: {name: a}\n',
    [
      "2:7: error: RelayConfig is the server's own file; a repository cannot hold it (give it to the server with --config; what a repository may set is in FleetPolicy)",
    ],
  ],
  [
    'a cluster name that is none',
    'apiVersion: admin.gloo.solo.io/v2\nkind: KubernetesCluster\nmetadata: {name: East}\nspec: {skipWarmin: 1}\n',
    ['4:8: error: spec.skipWarmin is not a field that is known here (did you mean skipWarming?)'],
  ],
  [
    'paths that begin with a dot',
    `${HEADER}spec: {paths: [.apps, 'a/.b/**', '{c,.d}/e', a.b/c], clusters: {names: [x]}}\n`,
    ['.apps', 'a/.b/**', '{c,.d}/e'].map(
      (path, index) =>
        `4:${[16, 23, 34][index]}: warning: the path "${path}" names a file or folder that begins with a dot, and none of these is read (give the folder a name without the dot)`,
    ),
  ],
  [
    'paths that lead elsewhere',
    `${HEADER}spec: {paths: [/a, ../b, "c/./d", 'e\\f', "!g", "+(h)"], clusters: {names: [x y]}}\n`,
    [
      '4:16: error: the path "/a" must be relative to the root of the source: remove the leading "/"',
      '4:20: error: the path "../b" must not hold "." or ".." as a folder',
      '4:26: error: the path "c/./d" must not hold "." or ".." as a folder',
      '4:35: error: the path "e\\\\f" holds a "\\"; folders are separated by "/"',
      '4:42: error: the path "!g" must not begin with "!"; only what is listed is selected',
      '4:48: error: the path "+(h)" holds "(", ")" or "|"; only *, **, ?, [abc] and {a,b} are allowed',
      '4:76: error: cluster name "x y" must be 1 to 63 lower-case letters, digits or "-", start with a letter and not end with "-"',
    ],
  ],
  [
    'a selector that does not fit its operator',
    `${HEADER}spec:\n  paths: [a]\n  clusters:\n    selector:\n      matchExpressions:\n      - {key: a, operator: In}\n      - {key: b, operator: Exists, values: [c]}\n      - {key: c, operator: in}\n`,
    [
      '11:28: error: spec.clusters.selector.matchExpressions[2].operator must be one of In, NotIn, Exists, DoesNotExist (did you mean In?)',
    ],
  ],
  [
    'a selector that does not fit its operator, its words being right',
    `${HEADER}spec:\n  paths: [a]\n  clusters:\n    selector:\n      matchExpressions:\n      - {key: a, operator: In}\n      - {key: b, operator: Exists, values: [c]}\n`,
    ['9:9: error: the operator In needs values', '10:44: error: the operator Exists takes no values'],
  ],
  [
    'limits that are none',
    'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: a}\nspec:\n  guards: {maxRemovalPercentPerFleet: 101, windowSeconds: 0, maxRemovalsPerFleet: 1.5, maxRemovals: 3}\n',
    [
      '5:39: error: spec.guards.maxRemovalPercentPerFleet must be at most 100',
      '5:59: error: spec.guards.windowSeconds must be at least 1',
      '5:83: error: spec.guards.maxRemovalsPerFleet must be a whole number, not a fraction',
      '5:88: error: spec.guards.maxRemovals is not a field that is known here (did you mean maxRemovalsPerCluster?)',
    ],
  ],
  [
    'keys and numbers that are read as others say what is written',
    'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: a}\nspec: {guards: {yes: 1, windowSeconds: 0b0}}\n',
    [
      '4:17: warning: the key yes is read as "true", as kubectl does, but not by all tools (write "yes" in quotes)',
      '4:17: error: spec.guards.true is not a field that is known here: the key yes is read as "true" (known fields: maxRemovalPercentPerCluster, maxRemovalPercentPerFleet, maxRemovalsPerCluster, maxRemovalsPerFleet, percentFromOwned, windowSeconds)',
      '4:40: error: spec.guards.windowSeconds must be at least 1: 0b0 is read as the number 0',
    ],
  ],
  [
    'safe mode off without quotes is a boolean',
    'apiVersion: fleetrelay.dev/v1alpha1\nkind: FleetPolicy\nmetadata: {name: a}\nspec: {safeMode: {mode: off}}\n',
    [
      '4:25: error: spec.safeMode.mode must be text, not true or false: off is read as the boolean false (write it in quotes)',
    ],
  ],
  [
    'a field that only a later Kuma knows, and one that is wrong',
    'type: Dataplane\nname: web\nnetworking:\n  address: 10.0.0.1\n  later: 1\n  inbound:\n  - {port: 0, state: ready}\n',
    [
      '5:3: warning: networking.later is not a field that is known here (known fields: address, admin, advertisedAddress, gateway, inbound, listeners, outbound, transparentProxying)',
      '7:12: error: networking.inbound[0].port: port must be in the range [1, 65535]',
      '7:22: error: networking.inbound[0].state must be one of Ready, NotReady, Ignored (did you mean Ready?)',
    ],
  ],
  [
    'a duration that is none',
    'type: Dataplane\nname: web\nnetworking:\n  address: 10.0.0.1\n  inbound: [{port: 80, serviceProbe: {interval: 1 s}}]\n',
    [
      '5:49: error: networking.inbound[0].serviceProbe.interval does not have the right form, which is for example "1s"',
    ],
  ],
  [
    'another Universal resource',
    'type: Mesh\nname: default\n',
    [
      '1:7: error: the type "Mesh" is not known; of the resources that Kuma writes with a type, only Dataplane is read (a manifest has apiVersion and kind)',
    ],
  ],
];

const SYNTAX: readonly Case[] = [
  [
    'every broken line, and the errors of complete documents beside it',
    'a: b: c\nd: e: f\n---\napiVersion: v1\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: x, name: z}\n',
    [
      `1:4: error: ${KEY_AS_VALUE}`,
      `2:4: error: ${KEY_AS_VALUE}`,
      `4:1: error: kind is missing (${IGNORE})`,
      '8:21: error: the key "name" is here twice (remove one of the two)',
    ],
  ],
  ['a tab', 'a:\n\tb: 1\n', ['2:1: error: kubectl refuses a tab as indentation (write spaces)']],
  [
    'merge keys',
    'a: &a {b: 1}\nc:\n  <<: b\nd:\n  b: 2\n  <<: *a\n',
    [
      '3:3: error: the value of a merge key (<<) must be a mapping, or a list of them',
      '6:3: error: readers of YAML do not agree whether the key "b" or the merge key (<<) after it counts (write the merge key first)',
    ],
  ],
  [
    'tags',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: !!binary aGk=\n  b: !foo c\n  d: !!str 1\n',
    [
      '6:6: warning: kubectl leaves out the tag "!foo" (remove it, or quote the text if it begins with an exclamation mark)',
    ],
  ],
  [
    'tags that kubectl refuses',
    'a: !!binary aGk\nb: !!merge c\nd: [!e]\n',
    [
      '1:4: error: the value is not what its tag !!binary says (remove the tag, or correct the value)',
      '2:4: error: the tag "!!merge" is not allowed in manifests (remove it, or quote the text if it begins with an exclamation mark)',
      '3:5: error: the tag "!e" is not allowed in manifests (remove it, or quote the text if it begins with an exclamation mark)',
    ],
  ],
  [
    'keys that are no text',
    '? [a]\n: b\n? {c: d}\n: e\n~: f\n',
    [
      '1:3: error: a key must be text (quote it)',
      '3:3: error: a key must be text (quote it)',
      '5:1: error: a key must be text (quote it)',
    ],
  ],
  [
    'a bracket that is not closed, where it opens',
    'spec:\n  a: [b, c\n  d: e\nmore: 1\n',
    [
      '2:6: error: the bracket that opens here is not closed (write ] where it ends, or put the text in quotes if it begins with [)',
    ],
  ],
  [
    'a brace that another bracket closes',
    'a: {b: [c}\nd: 1\n',
    [
      '1:8: error: the bracket that opens here is not closed (write ] where it ends, or put the text in quotes if it begins with [)',
    ],
  ],
  [
    'a quote that is not closed, where it opens',
    'a: "b\nc: d\ne: f\n',
    [
      '1:4: error: the double quote that opens here is not closed (write " where the text ends, or put the text in single quotes if it begins with ")',
    ],
  ],
  [
    'a quote that is not closed, and is no document after a line with a mark',
    'a: "b\n---\nc\n---\nd"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
    [
      '1:4: error: the double quote that opens here is not closed (write " where the text ends, or put the text in single quotes if it begins with ")',
    ],
  ],
  [
    'a question mark as a value',
    'a: ? b\n',
    ['1:4: error: a text without quotes cannot begin with a question mark and a space (put the text in quotes)'],
  ],
  [
    'a line break of YAML 1.1 before a key',
    'a: b\u2028c: d\n',
    [
      '1:4: error: the line holds U+0085, U+2028 or U+2029, which ends a line for kubectl, but not for other tools (end the line there, or write the escape of the character in double quotes)',
    ],
  ],
  [
    'an alias as a key without a space',
    'a: &x b\n*x: c\n',
    ['2:1: error: an alias as a key needs a space before the colon (write the space)'],
  ],
  ['a mark with four dashes', '----\na: b\n', ['1:1: error: a document mark has three dashes (write ---)']],
  [
    'a mark that is indented',
    'a:\n  b: c\n  ---\n',
    ['3:3: error: a document mark (---) cannot be indented (remove the spaces before it)'],
  ],
  [
    'a mark that is indented at the beginning',
    ' ---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
    ['1:2: error: a document mark (---) cannot be indented (remove the spaces before it)'],
  ],
  [
    'spaces above a block of text',
    'a: |\n    \n  b\n',
    ['3:3: error: an empty line above the text is indented more than the text (remove the spaces of the empty line)'],
  ],
  [
    'a tab in a block of text that hides its indentation',
    'a: |\n  \t\n b\n',
    ['2:3: error: kubectl refuses a tab as indentation (write spaces)'],
  ],
  [
    'a character in a key that is not visible',
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {"a\u00a0": b}}\n',
    [
      '3:30: error: metadata.labels: the key "a\\u00a0" must be 1 to 63 letters, digits, "-", "_" or ".", and begin and end with a letter or digit',
    ],
  ],
  [
    'a line without a colon',
    'a: 1\nbcd\ne: 2\n',
    [
      '2:1: error: the line is no key with a value, and continues no text (write a colon and a space after the key, or indent the line more if it belongs to the line above)',
    ],
  ],
  [
    'a list on the line of its key',
    'a: - b\n',
    ['1:4: error: a list cannot begin on the line of its key (begin it on the next line)'],
  ],
  [
    'text after a quote',
    'a: "b" c\n',
    ['1:8: error: text follows the end of the value (put the complete text in quotes)'],
  ],
  [
    'forms that kubectl refuses',
    'a: 1\n--- {b: 2}\n',
    [
      '1:1: error: this is no manifest: it has neither apiVersion nor kind (move it to a file of its own, or list the file in .fleetrelayignore)',
      '2:5: error: kubectl reads no content on the line of a document mark (---) (write the content on the next line)',
      '2:5: error: this is no manifest: it has neither apiVersion nor kind (move it to a file of its own, or list the file in .fleetrelayignore)',
    ],
  ],
  [
    'numbers that JSON cannot hold',
    'a: 9007199254740993\nb: .inf\nc: -.INF\nd: .nan\ne: 1e400\n',
    [
      '1:4: error: 9007199254740993 is too large a number to be kept exactly (quote it if text is meant)',
      '2:4: error: .inf is a number that JSON cannot hold (quote it if text is meant)',
      '3:4: error: -.INF is a number that JSON cannot hold (quote it if text is meant)',
      '4:4: error: .nan is a number that JSON cannot hold (quote it if text is meant)',
      '5:4: warning: 1e400 is text as for kubectl, but infinity for tools that read YAML 1.2 (write "1e400" in quotes)',
    ],
  ],
];

describe.each([
  ['identity', IDENTITY],
  ['engine kinds', ENGINE_KINDS],
  ['syntax', SYNTAX],
])('complaints about %s', (_, cases) => {
  it.each(cases)('%s', (_title, text, expected) => {
    expect(complaints(text)).toEqual(expected.map((line) => `a.yaml:${line}`));
  });
});

describe('complaints about JSON', () => {
  it('name the place, and never quote the text', () => {
    expect(complaints('{\n  "a": 1,\n}', 'a.json')).toEqual(['a.json:3:1: error: this is not JSON']);
    expect(complaints('{"a": ', 'a.json')).toEqual(['a.json:1:6: error: the JSON ends too early']);
    for (const [text, column] of [
      ['a: 1\n', 1],
      ['[1, 2, x, 3]', 8],
      ['{"a": nulL}', 10],
      ['[1 2]', 4],
      ['{"a": 01}', 8],
      ['{"a": 1}}', 9],
      ['{"a": "at position 99" x}', 24],
    ] as const) {
      expect(complaints(text, 'a.json')).toEqual([`a.json:1:${column}: error: this is not JSON`]);
    }
    expect(complaints('{"a": 1, "a": 2}', 'a.json')).toEqual([
      'a.json:1:1: warning: the file is not read: it has neither apiVersion nor kind (list it in .fleetrelayignore to be told no more)',
    ]);
  });
});

describe('complaints about a Secret', () => {
  const VALUE = 'hunter2';
  const texts = [
    `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  pin: 0123\n  big: 12345678901234567890\n`,
    `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  a: ${VALUE}: b\n`,
    `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  a: | ${VALUE}\n  b: [${VALUE}\n`,
    `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: ${VALUE}\n`,
    `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: [${VALUE}]}\nstatus: ${VALUE}\n`,
    `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: "${VALUE}\n`,
    `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nimmutable: 0123\nstringData: {on: 0b1010011}\n`,
  ];
  it.each(texts)('never hold its values: %#', (text) => {
    const found = complaints(text);
    expect(found.length).toBeGreaterThan(0);
    expect(found.join('\n')).not.toMatch(/hunter2|0123|0b1|12345678901234567890|83/);
  });
  it('in JSON never hold its values', () => {
    const found = complaints(`{"apiVersion":"v1","kind":"Secret","stringData":{"a":"${VALUE}" ${VALUE}}}`, 'a.json');
    expect(found).toEqual(['a.json:1:64: error: this is not JSON']);
  });
});

describe('a file that may hold a Secret', () => {
  const values = [
    ...[
      '*hunter2',
      '!hunter2',
      '!<hunter2> x',
      '!hunter2! x',
      '!h{hunter2 x',
      '{hunter2: x, hunter2: y}',
      '%hunter2',
      '@hunter2',
    ],
    ...[
      '`hunter2',
      '"hunter2\\q"',
      '>hunter2',
      '|hunter2',
      '- hunter2',
      '? hunter2',
      '[hunter2',
      '{hunter2',
      '&hunter2 1_0',
    ],
    ...[
      '{<<: {hunter2: x}, hunter2: y}',
      '{hunter2: x, <<: {hunter2: y}}',
      '"hunter2',
      "'hunter2",
      'hunter2: x',
      '0x_hunter2',
    ],
  ];

  it.each(values)('no finding quotes what stands for a value: %s', (value) => {
    const text = `apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: ${value}\n`;
    expect(complaints(text).join('\n')).not.toContain('hunter2');
  });
});

describe('a misspelt field of the identity', () => {
  it.each([
    ['Metadata: {name: a}', '3:1: error: Metadata is not a field that is known here (did you mean metadata?)'],
    ['metdata: {name: a}', '3:1: error: metdata is not a field that is known here (did you mean metadata?)'],
    ['metadata: {Name: a}', '3:12: error: metadata.Name is not a field that is known here (did you mean name?)'],
    ['other: {name: a}', '1:1: error: metadata is missing'],
    ['metadata: {namespace: a}', '3:11: error: metadata.name is missing'],
  ])('%s', (line, complaint) => {
    expect(complaints(`apiVersion: v1\nkind: ConfigMap\n${line}\n`)).toEqual([`a.yaml:${complaint}`]);
  });
});
