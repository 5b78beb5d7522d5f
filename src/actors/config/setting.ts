// Setting: how one configuration key is declared. The declarations themselves are in `declarations/`.
// T1 `schema` is the type as well as the bounds: a value that does not fit is never stored and never read back.
// T2 `expected` says in words what the schema asks for; it ends the sentence "must be …" of an error.
// T3 What clients are shown (constraints, help, tier) comes from the same call as what is enforced: they cannot differ.

import { type Static, type TSchema, Type } from '../../std/schema.ts';
import { ROLE_NAMES, type RoleName } from './roles.ts';
import type { SectionId } from './sections.ts';

export type SettingType = 'bool' | 'int' | 'float' | 'str' | 'map' | 'list';

export type Tier = 'essential' | 'advanced' | 'experimental';

/**
 * Who may set a key: a client by the common update; only the routes of another noun, through the message `put`; or only
 * the operator, in the settings file.
 */
export type Writer = 'client' | 'noun' | 'operator';

/**
 * The route by which clients set a key that is theirs to set. What is not set by the common update belongs to the store of
 * memory, and is no part of the tree that `/api/config` shows.
 */
export type WriteRoute = '/api/config/update' | '/api/memory/settings' | '/api/memory/recall-settings';

export const UPDATE_ROUTE: WriteRoute = '/api/config/update';

export interface Constraints {
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  readonly enum?: string[];
  readonly unit?: string;
}

/** Marks a model setting that follows a role while it is empty. */
export interface RoleMembership {
  readonly role: RoleName;
  /** How the member is called on the roles' page. */
  readonly member: string;
  readonly label: string;
}

export interface Setting<Schema extends TSchema = TSchema> {
  readonly type: SettingType;
  readonly schema: Schema;
  readonly default: Static<Schema>;
  readonly expected: string;
  /** Encrypted at rest and redacted in every reply. */
  readonly secret: boolean;
  /** Takes null, and reads an empty text as null: "not set". */
  readonly nullable: boolean;
  /** A text that is stored as it was written, blanks and all. */
  readonly verbatim: boolean;
  readonly writer: Writer;
  readonly route: WriteRoute;
  readonly constraints: Constraints | undefined;
  readonly tier: Tier;
  /** The page of the settings that shows it; null for what has no page. */
  readonly section: SectionId | null;
  readonly membership: RoleMembership | undefined;
  /** What holds while the value is null or an empty text. */
  readonly emptyMeans: string | undefined;
  /** Environment variable that gives the first value, as long as nothing was ever stored under the key. */
  readonly environment: string | undefined;
  /** False as long as it is only kept: what reads it is still to come. */
  readonly inEffect: boolean;
  /** One sentence for the settings page. */
  readonly summary: string;
  /** Why one would change it. */
  readonly why: string | undefined;
}

export interface SettingOptions {
  readonly environment?: string;
  readonly writer?: Writer;
  readonly tier?: Tier;
  readonly emptyMeans?: string;
  readonly unit?: string;
  readonly why?: string;
}

type Traits = Partial<Pick<Setting, 'secret' | 'nullable' | 'verbatim' | 'constraints' | 'membership'>>;

function setting<Schema extends TSchema>(
  type: SettingType,
  schema: Schema,
  initial: Static<Schema>,
  expected: string,
  summary: string,
  { unit, ...options }: SettingOptions & Traits = {},
): Setting<Schema> {
  const constraints = { ...options.constraints, ...(unit === undefined ? {} : { unit }) };
  return {
    type,
    schema,
    default: initial,
    expected,
    summary,
    secret: options.secret ?? false,
    nullable: options.nullable ?? false,
    verbatim: options.verbatim ?? false,
    writer: options.writer ?? 'client',
    route: UPDATE_ROUTE,
    constraints: Object.keys(constraints).length === 0 ? undefined : constraints,
    tier: options.tier ?? 'advanced',
    section: null,
    membership: options.membership,
    emptyMeans: options.emptyMeans,
    environment: options.environment,
    inEffect: true,
    why: options.why,
  };
}

type Group = Readonly<Record<string, Setting>>;

/** Puts a group of settings on one page. */
export function onPage<const Settings extends Group>(section: SectionId, group: Settings): Settings {
  return withAll(group, { section });
}

/** Settings that clients can store already, but that nothing reads yet. What comes to read one moves it out. */
export function kept<const Settings extends Group>(group: Settings): Settings {
  return withAll(group, { inEffect: false });
}

/** Settings that only the operator may set. */
export function operatorOnly<const Settings extends Group>(group: Settings): Settings {
  return withAll(group, { writer: 'operator' });
}

/** Settings that clients set by another route than the common update. */
export function setThrough<const Settings extends Group>(route: WriteRoute, group: Settings): Settings {
  return withAll(group, { route });
}

function withAll<Settings extends Group>(group: Settings, common: Partial<Setting>): Settings {
  const entries = Object.entries(group).map(([key, declared]) => [key, { ...declared, ...common }]);
  return Object.fromEntries(entries) as Settings;
}

export const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

export const flag = (initial: boolean, summary: string, options?: SettingOptions) =>
  setting('bool', Type.Boolean(), initial, 'true or false', summary, options);

/** True, false, or null: the service decides. */
export const optionalFlag = (summary: string, options?: SettingOptions) =>
  setting('bool', orNull(Type.Boolean()), null, 'true, false or null', summary, {
    ...options,
    nullable: true,
  });

type Bounds = { readonly minimum: number; readonly maximum: number; readonly step?: number };

const within = ({ minimum, maximum }: Bounds): string => `from ${minimum} to ${maximum}`;

/** `step` is for the control that shows it; a value between two steps is as good as any. */
const constraintsOf = ({ minimum, maximum, step }: Bounds): Constraints => ({
  min: minimum,
  max: maximum,
  ...(step === undefined ? {} : { step }),
});

const range = ({ minimum, maximum }: Bounds) => ({ minimum, maximum });

export const integer = (initial: number, bounds: Bounds, summary: string, options?: SettingOptions) =>
  setting('int', Type.Integer(range(bounds)), initial, `a whole number ${within(bounds)}`, summary, {
    ...options,
    constraints: constraintsOf(bounds),
  });

export const number = (initial: number, bounds: Bounds, summary: string, options?: SettingOptions) =>
  setting('float', Type.Number(range(bounds)), initial, `a number ${within(bounds)}`, summary, {
    ...options,
    constraints: constraintsOf(bounds),
  });

/** A number that may be absent: "no limit". */
export const optionalNumber = (bounds: Bounds, summary: string, options?: SettingOptions) =>
  setting('float', orNull(Type.Number(range(bounds))), null, `a number ${within(bounds)}, or null`, summary, {
    ...options,
    nullable: true,
    constraints: constraintsOf(bounds),
  });

export const choice = <const Value extends string>(
  initial: Value,
  values: readonly Value[],
  summary: string,
  options?: SettingOptions,
) =>
  setting('str', Type.Enum([...values]), initial, `one of ${values.join(', ')}`, summary, {
    ...options,
    constraints: { enum: [...values] },
  });

const TEXT_LENGTH_MAX = 2_000;
/** A long prompt. Settings travel with every turn, so this is not the place for books. */
const PROMPT_LENGTH_MAX = 20_000;

/** A short text that is always there. */
export const text = (initial: string, summary: string, options?: SettingOptions) =>
  setting(
    'str',
    Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX }),
    initial,
    `a text of 1 to ${TEXT_LENGTH_MAX} characters`,
    summary,
    options,
  );

/** A short text that may be absent. */
export const optionalText = (summary: string, options?: SettingOptions) =>
  setting(
    'str',
    orNull(Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX })),
    null,
    `a text of at most ${TEXT_LENGTH_MAX} characters, or null`,
    summary,
    { ...options, nullable: true },
  );

/** What a model is told, instead of the text that ships; empty for the latter. */
export const promptText = (initial: string, summary: string, options?: SettingOptions) =>
  setting(
    'str',
    Type.String({ maxLength: PROMPT_LENGTH_MAX }),
    initial,
    `a text of at most ${PROMPT_LENGTH_MAX} characters`,
    summary,
    { emptyMeans: 'the text that ships is used', ...options, verbatim: true },
  );

export const Credential = Type.String({ pattern: '^[\\x21-\\x7e]+$', maxLength: TEXT_LENGTH_MAX });

/** A credential. Printable ASCII only: it travels in an HTTP header. */
export const optionalSecret = (summary: string, options?: SettingOptions) =>
  setting('str', orNull(Credential), null, 'a key without blanks, or null', summary, {
    ...options,
    nullable: true,
    secret: true,
  });

/** What is no address although it looks like one (`http://localhost:99999`) would fail everybody who takes it apart. */
export const WebAddress = Type.Refine(
  Type.String({ pattern: '^https?://[^\\s/@]+(/[^\\s@]*)?$', maxLength: TEXT_LENGTH_MAX }),
  (address) => URL.canParse(address),
);

/** The address of a service. Credentials in it would show, so they are refused. */
export const optionalUrl = (summary: string, options?: SettingOptions) =>
  setting('str', orNull(WebAddress), null, 'an http or https address without credentials, or null', summary, {
    ...options,
    nullable: true,
  });

/** `provider:model`, where `role:` is no provider. */
const CONCRETE_MODEL = '(?!role:)[^\\s:]+:\\S[^\\n]*';

/** What a turn uses when it names no model. */
export const optionalModelReference = (summary: string, options?: SettingOptions) =>
  setting(
    'str',
    orNull(
      Type.String({
        pattern: `^(${CONCRETE_MODEL}|role:(${ROLE_NAMES.join('|')}))$`,
        maxLength: TEXT_LENGTH_MAX,
      }),
    ),
    null,
    `provider:model, ${ROLE_NAMES.map((role) => `role:${role}`).join(', ')} or null`,
    summary,
    { ...options, nullable: true },
  );

/** A model by itself: no role stands for it, and an empty text leaves it unset. */
export const concreteModel = (summary: string, options?: SettingOptions) =>
  setting(
    'str',
    Type.String({ pattern: `^$|^${CONCRETE_MODEL}$`, maxLength: TEXT_LENGTH_MAX }),
    '',
    'provider:model, or empty',
    summary,
    options,
  );

/** The model behind a role: a role cannot stand for another. */
export const roleModel = (summary: string, options?: SettingOptions) =>
  concreteModel(summary, { emptyMeans: 'what follows the role uses the default model', ...options });

/** What is put before another text, blanks at its end and all. */
export const prefixText = (summary: string, options?: SettingOptions) =>
  setting(
    'str',
    Type.String({ maxLength: TEXT_LENGTH_MAX }),
    '',
    `a text of at most ${TEXT_LENGTH_MAX} characters`,
    summary,
    { ...options, verbatim: true },
  );

const ONE_LINE = '^[^\\n]*$';

/** The model of one task: any reference that routing understands. Empty is a value: "follow the role", or the turn's model. */
export const taskModel = (
  initial: string,
  summary: string,
  { membership, ...options }: SettingOptions & { readonly membership?: RoleMembership } = {},
) =>
  setting(
    'str',
    Type.String({ pattern: ONE_LINE, maxLength: TEXT_LENGTH_MAX }),
    initial,
    'provider:model, role:name, or empty',
    summary,
    {
      emptyMeans:
        membership === undefined ? 'the model of the turn is used' : `it follows the role ${membership.role}`,
      ...options,
      ...(membership === undefined ? {} : { membership }),
    },
  );

/** As `taskModel`, where "none" is null. */
export const optionalTaskModel = (summary: string, options?: SettingOptions) =>
  setting(
    'str',
    orNull(Type.String({ pattern: ONE_LINE, minLength: 1, maxLength: TEXT_LENGTH_MAX })),
    null,
    'provider:model, role:name or null',
    summary,
    { ...options, nullable: true },
  );

/** Short texts, replaced as a whole. */
export const texts = (
  initial: readonly string[],
  countMax: number,
  summary: string,
  options?: SettingOptions,
) =>
  setting(
    'list',
    Type.Array(Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX }), { maxItems: countMax }),
    [...initial],
    `a list of at most ${countMax} texts`,
    summary,
    options,
  );

/** No underscore first: `__proto__` is the name of nothing. */
const ENTRY_NAME = '^[A-Za-z0-9@~][^\\n]{0,199}$';

interface MapOptions extends SettingOptions {
  readonly entriesMax: number;
  /** Ends the sentence "must be …". */
  readonly expected: string;
  /** The pattern of the names. */
  readonly names?: string;
  /** Some of what it holds is secret: see redaction.ts. */
  readonly secret?: boolean;
}

/** Named entries of one shape, replaced as a whole by an update. */
export const map = <Schema extends TSchema>(
  entry: Schema,
  initial: { readonly [name: string]: Static<Schema> },
  summary: string,
  { entriesMax, expected, names = ENTRY_NAME, ...options }: MapOptions,
) =>
  setting(
    'map',
    Type.Record(Type.String({ pattern: names }), entry, {
      maxProperties: entriesMax,
      additionalProperties: false,
    }),
    initial as never,
    expected,
    summary,
    options,
  );
