import type { JsonObject } from '../../model/text/json.ts';
import type { RoleRights } from './permission.ts';

/** What a domain adds to an installed agent. */
export interface AgentAddition {
  /** More than an agent may do by itself; each is the choice of the person who installs it, by this name. */
  readonly choices?: Readonly<Record<string, RoleRights>>;
  /** What `fleetrelay cluster register` says of the choices. */
  readonly register?: RegisterHelp;
  /** The ConfigMaps that the agent keeps in its own namespace by their names, each with a sentence for the table of rights. */
  readonly records?: Readonly<Record<string, string>>;
  readonly policy?: PolicyAddition;
  /** The admission webhook that the agent serves if the person who installs it asks for it. At most one domain has one. */
  readonly webhook?: AgentWebhook;
}

/** What `fleetrelay cluster register` says of choices. */
export interface RegisterHelp {
  /** What they allow, for the help of `--allow`. */
  readonly allow: string;
  /** The options that name the Namespaces of a choice with {@link RoleRights.inNamespaces}. */
  readonly namespaces: readonly NamespacesOption[];
  readonly examples: readonly (readonly [command: string, meaning: string])[];
}

/** An option of `fleetrelay cluster register` that names Namespaces. */
export interface NamespacesOption {
  readonly choice: string;
  /** `care-namespaces` */
  readonly option: string;
  /** What the agent may do in them: `where the agent may ...`. */
  readonly where: string;
  /** Which ones, for the help. */
  readonly which: string;
}

/** What a domain adds to the policy that limits an agent: expressions in CEL over the variables of `agentPolicy`. */
export interface PolicyAddition {
  /** By the name of its variable: true for what the agent may write in a protected Namespace. */
  readonly permitted?: Readonly<Record<string, string>>;
  /** Further variables, by name. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Further rules. `ownWebhook`: the name of the agent's own MutatingWebhookConfiguration. */
  readonly validations?: (ownWebhook: string) => readonly JsonObject[];
}

/** An admission webhook that an agent serves. */
export interface AgentWebhook {
  /** What the agent does by it, for the help of `fleetrelay cluster register`. */
  readonly does: string;
  /** The usual name of its MutatingWebhookConfiguration. */
  readonly configuration: string;
  /** The usual name of its Secret in the agent's namespace. */
  readonly secret: string;
  /** What the agent may do besides. */
  readonly rights: RoleRights;
  /** What it adds to the command line of the agent. `image`: of fleetrelay. */
  readonly args: (image: string) => readonly string[];
  /** The port of the agent's container. */
  readonly port: JsonObject;
  /** What is installed when the agent is there, in this order. */
  readonly manifests: (namespace: string) => readonly JsonObject[];
  /** What the agent makes for it. It is not installed, but an uninstallation removes it. */
  readonly made: (namespace: string) => readonly JsonObject[];
}
