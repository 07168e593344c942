/** The list of third-party packages in a bundle (SBOM), in the form of CycloneDX 1.6. */
import type { Metafile } from 'esbuild';

/** What of an entry of `package-lock.json` is read. */
interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
}

export interface Lockfile {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** Name and version of the program itself, and its license. */
export interface Program {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

const LAST_PACKAGE = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)(?=\/)/;

/**
 * Folders of the packages of which a bundle has at least a byte, as `package-lock.json` names them, sorted. Where `node_modules` is a
 * link, esbuild names files by where it leads.
 */
function bundledFolders(metafiles: readonly Pick<Metafile, 'outputs'>[]): readonly string[] {
  const files = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
    ),
  );
  const folders = files.flatMap((file) => LAST_PACKAGE.exec(file)?.[0] ?? []);
  return [...new Set(folders.map((folder) => folder.slice(folder.indexOf('node_modules/'))))].sort();
}

function licenseOf(license: string): object {
  return license.includes(' ') ? { expression: license } : { license: { id: license } };
}

function componentOf(folder: string, { packages }: Lockfile): { readonly 'bom-ref': string } {
  const { version, license, integrity } = packages[folder] ?? {};
  const fullName = LAST_PACKAGE.exec(`${folder}/`)?.[1] ?? folder;
  if (version === undefined || license === undefined || !integrity?.startsWith('sha512-')) {
    throw new Error(`package-lock.json: ${folder} needs a version, a license and a sha512 integrity; run npm install`);
  }
  const [group, name] = fullName.startsWith('@') ? fullName.split('/') : [undefined, fullName];
  const purl = `pkg:npm/${fullName.replace('@', '%40')}@${version}`;
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group === undefined ? {} : { group }),
    name,
    version,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex') }],
    licenses: [licenseOf(license)],
    purl,
  } as { readonly 'bom-ref': string };
}

/**
 * The SBOM of a bundle: the program, and one component for each version of a package that esbuild has put into it. It
 * has neither a time nor a random number, so that equal bundles have equal ones.
 * Throws if the lockfile lacks version, license or sha512 of one.
 */
export function sbomOf(program: Program, metafiles: readonly Pick<Metafile, 'outputs'>[], lockfile: Lockfile): string {
  const purl = `pkg:npm/${program.name}@${program.version}`;
  const components = new Map(
    bundledFolders(metafiles).map((folder) => {
      const component = componentOf(folder, lockfile);
      return [component['bom-ref'], component];
    }),
  );
  const bom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': purl,
        name: program.name,
        version: program.version,
        licenses: [licenseOf(program.license)],
        purl,
      },
    },
    components: [...components.values()],
    dependencies: [{ ref: purl, dependsOn: [...components.keys()] }],
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}
