// Role members: which model each task behind the scenes uses today, and why. Pure.
// M1 A value of its own wins; an empty one follows the role; a role without a model leaves it to the default model.
//    Between the two, what belongs to memory has a default of its own.
// M2 On the wire "none" is an empty text.

import type { ReplyFrom } from '../../supervisor/protocol.ts';
import { INHERIT } from './declarations/memory.ts';
import type { config } from './protocol.ts';
import { ROLE_NAMES, ROLES, type RoleName } from './roles.ts';
import { UPDATE_ROUTE } from './setting.ts';
import { settings as declared, type RoleMember, roleMembers, type Settings } from './settings.ts';

type RolesView = ReplyFrom<typeof config, 'roles'>;
type MemberView = RolesView['members'][number];

export function rolesOf(settings: Settings): RolesView {
  const roles = ROLE_NAMES.map((role) => [role, { ...ROLES[role], model: modelOfRole(role, settings) }]);
  return {
    roles: Object.fromEntries(roles),
    members: roleMembers.map((member) => memberOf(member, settings)),
  };
}

function memberOf({ key, role, member, label }: RoleMember, settings: Settings): MemberView {
  const isMemory = declared[key].route !== UPDATE_ROUTE;
  const explicit = withoutInherit(String(settings[key] ?? ''));
  const roleModel = modelOfRole(role, settings);
  return {
    member,
    label,
    role,
    kind: isMemory ? 'memory' : 'config',
    source: key,
    explicit,
    role_model: roleModel,
    ...choice(modelBehind(explicit, settings), roleModel, fallbackOf(isMemory, settings)),
  };
}

/** M1. */
function choice(
  explicit: string,
  roleModel: string,
  fallback: string,
): Pick<MemberView, 'effective' | 'following'> {
  if (explicit !== '') return { effective: explicit, following: 'explicit' };
  if (roleModel !== '') return { effective: roleModel, following: 'role' };
  return { effective: fallback, following: 'fallback' };
}

function fallbackOf(isMemory: boolean, settings: Settings): string {
  const ofMemory = isMemory ? modelBehind(withoutInherit(settings.feature_default_model), settings) : '';
  return ofMemory || modelBehind(settings['preferences.default_model'] ?? '', settings);
}

/** Memory's word for an empty text. It names no model anywhere else either. */
function withoutInherit(reference: string): string {
  return reference === INHERIT ? '' : reference;
}

/** Any reference may be `role:name`; one to a role that has no model, or that there is none, stands for nothing. */
function modelBehind(reference: string, settings: Settings): string {
  if (!reference.startsWith('role:')) return reference;
  const role = ROLE_NAMES.find((name) => reference === `role:${name}`);
  return role === undefined ? '' : modelOfRole(role, settings);
}

function modelOfRole(role: RoleName, settings: Settings): string {
  return settings[`models.roles.${role}`];
}
