/**
 * Runs inside the image while it is built, in the folder of the package: prints the list of everything in the image (CycloneDX 1.6).
 * That is Debian's packages, Node, fleetrelay, and the third-party packages in its bundle, which the bundle's own list names. It has
 * neither a time nor a random number, so that equal images have equal ones.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

interface Component {
  readonly type: string;
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
}

interface Bom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly version: number;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly object[];
}

const release = new Map(
  readFileSync('/etc/os-release', 'utf8')
    .split('\n')
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1).replaceAll('"', '')]),
);
const distribution = { id: release.get('ID') ?? 'debian', version: release.get('VERSION_ID') ?? '' };

function debianPackages(): readonly Component[] {
  const format = '$' + '{Package} $' + '{Version} $' + '{Architecture}\n';
  const lines = execFileSync('dpkg-query', ['--show', '--showformat', format], { encoding: 'utf8' }).trim().split('\n');
  return lines.sort().map((line) => {
    const [name = '', version = '', architecture = ''] = line.split(' ');
    const distro = `${distribution.id}-${distribution.version}`;
    const purl = `pkg:deb/${distribution.id}/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=${distro}`;
    return { type: 'library', 'bom-ref': purl, name, version, purl };
  });
}

function node(): Component & { readonly hashes: readonly object[] } {
  const { node: version } = process.versions;
  const purl = `pkg:generic/node@${version}`;
  const content = createHash('sha256').update(readFileSync(process.execPath)).digest('hex');
  return {
    type: 'application',
    'bom-ref': purl,
    name: 'node',
    version,
    hashes: [{ alg: 'SHA-256', content }],
    purl,
  };
}

const bundle = JSON.parse(readFileSync('dist/sbom.cdx.json', 'utf8')) as Bom;
const system: Component = {
  type: 'operating-system',
  'bom-ref': `${distribution.id}@${distribution.version}`,
  name: distribution.id,
  version: distribution.version,
};
const program = bundle.metadata.component;
const own: readonly Component[] = [system, node(), ...debianPackages(), program];
const image: Component = { type: 'container', 'bom-ref': 'image', name: program.name, version: program.version };
const bom: Bom = {
  ...bundle,
  metadata: { component: image },
  components: [...own, ...bundle.components],
  dependencies: [{ ref: 'image', dependsOn: own.map((component) => component['bom-ref']) }, ...bundle.dependencies],
};
process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`);
