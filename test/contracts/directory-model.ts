import type { Act, UserStore } from '@krmhub/catalog';
import type { Random } from '@krmhub/yaml/testing/random';
import type { DirectoryStore } from '../../apps/registry/src/store/directory-store.js';
import { AT } from './sample-records.js';

export const ISSUER = 'https://sso.example.com';
export const LIMITS = { maxUsers: 1_000, maxGroups: 1_000, maxMembers: 1_000, maxGroupsOfUser: 100 };
const ACT: Act = { at: AT, by: 'entra' };
const SUBJECTS = ['a', 'b', 'c', 'd', 'e', 'f'];
const GROUPS = ['ops', 'web', 'data', 'none'];

interface ModelUser {
  subject: string;
  claims: string[];
  isManaged: boolean;
  isInactive: boolean;
  isSuspended: boolean;
}
interface Entry {
  id: string;
  userName: string;
  subject: string;
}
interface Group {
  id: string;
  name: string;
  members: Set<Entry>;
}

/** Changes a directory at random, with sign-ins and administrators between, and says what it is then. */
export class DirectoryModel {
  readonly #store: DirectoryStore & UserStore;
  readonly #random: Random;
  readonly #users = new Map<string, ModelUser>();
  readonly #entries = new Set<Entry>();
  readonly #groups = new Set<Group>();
  #count = 0;

  constructor(store: DirectoryStore & UserStore, random: Random) {
    this.#store = store;
    this.#random = random;
  }

  /** Makes a change. Returns what it was. */
  async change(): Promise<string> {
    const steps = [
      () => this.#add(),
      () => this.#activate(),
      () => this.#rename(),
      () => this.#remove(),
      () => this.#signIn(),
      () => this.#suspend(),
      () => this.#addGroup(),
      () => this.#changeMembers(),
      () => this.#changeMembers(),
      () => this.#renameGroup(),
      () => this.#removeGroup(),
    ];
    return this.#random.pick(steps)();
  }

  users() {
    return [...this.#users.values()].map((user) => ({
      subject: user.subject,
      groups: this.#groupsOf(user),
      suspendedBy: user.isSuspended ? 'admin' : user.isInactive ? 'the directory' : undefined,
      directory: user.isManaged
        ? { isActive: !user.isInactive, groups: this.#groupsOf({ ...user, claims: [] }) }
        : undefined,
    }));
  }

  userNames(): string[] {
    return [...this.#entries].map(({ userName }) => userName).sort();
  }

  groups(): [string, number, string[]][] {
    const names = ({ members }: Group) => [...members].map(({ userName }) => userName).sort();
    return [...this.#groups]
      .map((group): [string, number, string[]] => [group.name, group.members.size, names(group)])
      .sort();
  }

  #groupsOf({ subject, claims }: ModelUser): string[] {
    const has = ({ members }: Group) => [...members].some((entry) => entry.subject === subject);
    return [...new Set([...claims, ...[...this.#groups].filter(has).map(({ name }) => name)])].sort();
  }

  #user(subject: string): ModelUser {
    const known = this.#users.get(subject);
    const user = known ?? { subject, claims: [], isManaged: false, isInactive: false, isSuspended: false };
    this.#users.set(subject, user);
    return user;
  }

  #any<Item>(items: ReadonlySet<Item>): Item | undefined {
    return items.size === 0 ? undefined : this.#random.pick([...items]);
  }

  async #add(): Promise<string> {
    const free = SUBJECTS.filter((subject) => ![...this.#entries].some((one) => one.subject === subject));
    if (free.length === 0) return 'nothing';
    const subject = this.#random.pick(free);
    const isActive = this.#random.below(4) > 0;
    const userName = `${subject}-${this.#count++}`;
    const fields = { userName, externalId: subject, isActive, attributes: {} };
    const { id } = await this.#store.addDirectoryUser(ISSUER, fields, LIMITS, ACT);
    this.#entries.add({ id, userName, subject });
    Object.assign(this.#user(subject), { isManaged: true, isInactive: !isActive });
    return `add ${userName} ${isActive}`;
  }

  async #activate(): Promise<string> {
    const entry = this.#any(this.#entries);
    if (entry === undefined) return 'nothing';
    const isActive = this.#random.below(2) === 0;
    const decide = (current: object) => ({ ...current, isActive }) as never;
    await this.#store.changeDirectoryUser(ISSUER, entry.id, decide, ACT);
    this.#user(entry.subject).isInactive = !isActive;
    return `activate ${entry.userName} ${isActive}`;
  }

  /** Sometimes by a new subject, so that it is another user. */
  async #rename(): Promise<string> {
    const entry = this.#any(this.#entries);
    if (entry === undefined) return 'nothing';
    const userName = `${entry.subject}-${this.#count++}`;
    const free = SUBJECTS.filter((subject) => ![...this.#entries].some((one) => one.subject === subject));
    const subject = this.#random.below(3) === 0 && free.length > 0 ? this.#random.pick(free) : entry.subject;
    const before = this.#user(entry.subject);
    const { isInactive } = before;
    const decide = (current: object) => ({ ...current, userName, externalId: subject }) as never;
    await this.#store.changeDirectoryUser(ISSUER, entry.id, decide, ACT);
    if (subject !== entry.subject) {
      this.#release(before);
      Object.assign(this.#user(subject), { isManaged: true, isInactive });
    }
    const was = entry.userName;
    Object.assign(entry, { userName, subject });
    return `rename ${was} to ${userName} of ${subject}`;
  }

  async #remove(): Promise<string> {
    const entry = this.#any(this.#entries);
    if (entry === undefined || this.#random.below(2) === 0) return 'nothing';
    await this.#store.removeDirectoryUser(ISSUER, entry.id, ACT);
    this.#entries.delete(entry);
    for (const { members } of this.#groups) members.delete(entry);
    this.#release(this.#user(entry.subject));
    return `remove ${entry.userName}`;
  }

  #release(user: ModelUser): void {
    Object.assign(user, { isManaged: false, isInactive: true, claims: [] });
  }

  async #signIn(): Promise<string> {
    const subject = this.#random.pick(SUBJECTS);
    const groups = GROUPS.filter(() => this.#random.below(2) === 0);
    await this.#store.confirmUser(
      { issuer: ISSUER, subject, name: subject, groups },
      { at: AT, isSignIn: true },
    );
    this.#user(subject).claims = groups;
    return `sign in ${subject} with ${groups}`;
  }

  async #suspend(): Promise<string> {
    const user = this.#any(new Set(this.#users.values()));
    if (user === undefined) return 'nothing';
    const isSuspended = this.#random.below(2) === 0;
    const { id } = (await this.#store.users({ limit: 1_000 })).find((one) => one.subject === user.subject)!;
    await this.#store.suspendUser(id, isSuspended, { at: AT, by: 'admin' });
    user.isSuspended = isSuspended;
    if (!isSuspended && !user.isManaged) user.isInactive = false;
    return `suspend ${user.subject} ${isSuspended}`;
  }

  #members(): Set<Entry> {
    return new Set([...this.#entries].filter(() => this.#random.below(2) === 0));
  }

  #freeName(): string | undefined {
    const free = GROUPS.filter((name) => ![...this.#groups].some((group) => group.name === name));
    return free.length === 0 ? undefined : this.#random.pick(free);
  }

  async #addGroup(): Promise<string> {
    const name = this.#freeName();
    if (name === undefined) return 'nothing';
    const members = this.#members();
    const given = { name, members: new Set([...members].map(({ id }) => id)) };
    const { id } = await this.#store.addDirectoryGroup(ISSUER, given, LIMITS, ACT);
    this.#groups.add({ id, name, members });
    return `add group ${name} with ${[...members].map(({ subject }) => subject)}`;
  }

  async #changeMembers(): Promise<string> {
    const group = this.#any(this.#groups);
    if (group === undefined) return 'nothing';
    await this.#change(group, group.name, this.#members());
    return `members of ${group.name}: ${[...group.members].map(({ subject }) => subject)}`;
  }

  async #renameGroup(): Promise<string> {
    const group = this.#any(this.#groups);
    const name = this.#freeName();
    if (group === undefined || name === undefined) return 'nothing';
    const was = group.name;
    await this.#change(group, name, this.#random.below(2) === 0 ? this.#members() : group.members);
    return `rename group ${was} to ${name}: ${[...group.members].map(({ subject }) => subject)}`;
  }

  async #change(group: Group, name: string, members: ReadonlySet<Entry>): Promise<void> {
    const given = { name, members: new Set([...members].map(({ id }) => id)) };
    await this.#store.changeDirectoryGroup(ISSUER, group.id, () => given, LIMITS, ACT);
    for (const member of group.members) {
      if (name !== group.name || !members.has(member)) this.#forget(member, group.name);
    }
    group.name = name;
    group.members = new Set(members);
  }

  async #removeGroup(): Promise<string> {
    const group = this.#any(this.#groups);
    if (group === undefined || this.#random.below(2) === 0) return 'nothing';
    await this.#store.removeDirectoryGroup(ISSUER, group.id, ACT);
    for (const member of group.members) this.#forget(member, group.name);
    this.#groups.delete(group);
    return `remove group ${group.name}`;
  }

  /** The claim of a former member does not keep the group. */
  #forget({ subject }: Entry, name: string): void {
    const user = this.#user(subject);
    user.claims = user.claims.filter((claim) => claim !== name);
  }
}
