import { createRoute, z } from '@hono/zod-openapi';
import * as parameters from '@krmhub/api/parameters';
import { namedThing, parseSearch } from '@krmhub/api/search-syntax';
import type { ConsumerReader, TokenRecord } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { recheckRight, recheckToken } from '../../http/auth/authorize.js';
import { type Caller, callerOf } from '../../http/auth/caller.js';
import { countConsumers, mayCountConsumers } from '../../http/auth/count-consumers.js';
import type { KnownAccess } from '../../http/auth/request-actor.js';
import { changeOfRelease, refuseToYank } from '../../http/auth/yank-right.js';
import type { RegistryContext } from '../../http/context.js';
import type { LifecycleDeps } from '../../publish/set-lifecycle.js';
import { setLifecycle } from '../../publish/set-lifecycle.js';
import type { TakeDownReleaseDeps, TakedownRequest } from '../../publish/takedown/take-down-release.js';
import { takeDownRelease } from '../../publish/takedown/take-down-release.js';
import type { FindHeadStore } from '../../store/find-record.js';
import { findFunction, findReleaseHead } from '../../store/find-record.js';
import { operateReleasePath, RELEASES, takedownPath } from '../addresses.js';
import { sentence } from '../sentence.js';
import type { Site } from '../site.js';
import { lifecycleRequest } from './lifecycle-form.js';
import { CHANGES, type Operator } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import type { PrivatePage } from './private-response.js';
import { ReleasePage, type ReleasePageData } from './release-page.js';
import { ReleasesPage } from './releases-page.js';
import { TakedownPage, type TakedownPageData } from './takedown-page.js';

const RELEASE = '/operate/releases/{group}/{kind}/{release}';
const params = z.object({
  group: parameters.Group,
  kind: parameters.Kind,
  release: parameters.ReleaseName,
});
const ACTIONS = ['yank', 'unyank', 'deprecate', 'undeprecate'] as const;
const Typed = z.string().max(1_000, 'is longer than 1000 characters').optional();

export const RELEASE_PAGE_ROUTES = {
  operateReleases: createRoute({
    method: 'get',
    path: RELEASES,
    request: { query: z.object({ name: z.string().max(500, 'is too long').optional(), gone: Typed }) },
    responses: { 200: { description: 'The releases of a function' } },
  }),
  operateRelease: createRoute({
    method: 'get',
    path: RELEASE,
    request: { params, query: z.object({ done: z.enum(ACTIONS, 'is not a change').optional() }) },
    responses: { 200: { description: 'A release, and forms to change its lifecycle' } },
  }),
  changeRelease: createRoute({
    method: 'post',
    path: RELEASE,
    request: { params },
    responses: { 303: { description: 'Changed' } },
  }),
  takedownPage: createRoute({
    method: 'get',
    path: `${RELEASE}/takedown`,
    request: { params },
    responses: { 200: { description: 'What a takedown deletes' } },
  }),
  takeDownNow: createRoute({
    method: 'post',
    path: `${RELEASE}/takedown`,
    request: { params },
    responses: { 303: { description: 'Taken down' } },
  }),
} as const;

const LifecycleForm = z.object({
  do: z.enum(ACTIONS, 'is not a change'),
  reason: Typed,
  replacement: Typed,
});
const TakedownForm = z.object({ reason: Typed, refuse: Typed, confirmed: Typed });

export type ReleasePageDeps = LifecycleDeps &
  TakeDownReleaseDeps & {
    store: FindHeadStore & ConsumerReader & LifecycleDeps['store'] & TakeDownReleaseDeps['store'];
    snapshotBuilder: LifecycleDeps['snapshotBuilder'] & TakeDownReleaseDeps['snapshotBuilder'];
    access: KnownAccess;
    site: Site;
  };

type ReleaseName = z.output<typeof params>;

const describeCaller = (c: RegistryContext, token: TokenRecord) => ({
  ...callerOf(c, token),
  recheck: recheckToken(c),
});

/** Pages that yank, deprecate, and take down releases, by the rules of the HTTP API. */
export function releasePageRoutes(deps: ReleasePageDeps, pages: OperatorPages): void {
  const { store, site } = deps;

  /** Returns the name of a release only if it was taken down, whatever the URL says. */
  const takenDownName = async (text: string): Promise<ReleaseName | undefined> => {
    const { name } = namedThing(parseSearch(text));
    if (name?.release === undefined) return undefined;
    const { group, kind, release } = name;
    const takedowns = await store.takedowns(group, kind);
    return takedowns.some((one) => one.release === release) ? { group, kind, release } : undefined;
  };

  pages.page(RELEASE_PAGE_ROUTES.operateReleases, {}, async (c, { query: { name: typed = '', gone } }) => {
    const takenDown = gone === undefined ? undefined : await takenDownName(gone);
    const page = (shown: Parameters<typeof ReleasesPage>[0]['shown'], status?: PrivatePage['status']) => ({
      head: { title: 'Releases', path: RELEASES },
      body: <ReleasesPage shown={{ takenDown, ...shown }} />,
      ...defined({ status }),
    });
    if (typed.trim() === '') return page({ typed });
    const { name } = namedThing(parseSearch(typed));
    if (name === undefined) return page({ typed, problem: 'Enter GROUP/KIND or GROUP/KIND@RELEASE.' }, 400);
    const { group, kind, release } = name;
    if (release !== undefined) return c.redirect(site.at(operateReleasePath({ group, kind, release })), 303);
    try {
      return page({ typed, fn: await findFunction(store, name) });
    } catch (error) {
      if (!(error instanceof KrmhubError) || (error.code !== 'not-found' && error.code !== 'gone'))
        throw error;
      const { message, hint = '' } = error;
      return page({ typed, problem: `${sentence(message)} ${hint.replaceAll('`', '')}`.trim() }, 404);
    }
  });

  const releasePage = async (
    name: ReleaseName,
    given: Omit<ReleasePageData, 'release' | 'consumers'>,
    { rules, token }: Operator,
  ): Promise<PrivatePage> => {
    const { release } = await findReleaseHead(store, name);
    const consumers = mayCountConsumers(rules, token, release)
      ? await countConsumers(deps, release)
      : undefined;
    return {
      head: { title: `${release.group}/${release.kind}@${release.release}`, path: RELEASES },
      body: <ReleasePage shown={{ release, consumers, ...given }} />,
      ...defined({ status: Object.keys(given.problems).length === 0 ? undefined : 400 }),
    };
  };

  pages.page(RELEASE_PAGE_ROUTES.operateRelease, {}, async (_, { params: name, query: { done } }, operator) =>
    releasePage(name, { done, typed: { reason: '', replacement: '' }, problems: {} }, operator),
  );

  pages.action(
    RELEASE_PAGE_ROUTES.changeRelease,
    { form: LifecycleForm },
    async (c, { params: name, form }, operator) => {
      const { token } = operator;
      const refuse = (record: TokenRecord) => refuseToYank(c, deps.access.rules, record, name);
      refuse(token);
      recheckRight(c, refuse);
      const { reason = '', replacement = '' } = form;
      const typed = { reason, replacement };
      const wanted = lifecycleRequest(form.do, typed);
      if ('problems' in wanted) return releasePage(name, { typed, problems: wanted.problems }, operator);
      try {
        const request = { ...wanted, ...describeCaller(c, token) };
        await changeOfRelease(c, deps.store, name, () => setLifecycle(deps, form.do, name, request));
      } catch (error) {
        if (!(error instanceof KrmhubError) || error.code !== 'invalid-request') throw error;
        const { message, hint } = error;
        return releasePage(
          name,
          { typed, problems: { 'deprecate-replacement': { message, hint } } },
          operator,
        );
      }
      return c.redirect(
        site.at(`${operateReleasePath(name)}?${new URLSearchParams({ done: form.do })}`),
        303,
      );
    },
  );

  const takedownPage = async (
    name: ReleaseName,
    given: Omit<TakedownPageData, 'name' | 'preview'>,
    caller: Pick<TakedownRequest, keyof Caller | 'recheck'>,
  ): Promise<PrivatePage> => {
    const preview = await takeDownRelease(deps, name, { reason: 'preview', dryRun: true, ...caller });
    return {
      head: { title: `Take down ${name.group}/${name.kind}@${name.release}`, path: takedownPath(name) },
      body: <TakedownPage shown={{ name, preview, ...given }} />,
      ...defined({ status: Object.keys(given.problems).length === 0 ? undefined : 400 }),
    };
  };

  pages.page(RELEASE_PAGE_ROUTES.takedownPage, { needs: CHANGES }, async (c, { params: name }, { token }) =>
    takedownPage(name, { reason: '', refuses: false, problems: {} }, describeCaller(c, token)),
  );

  pages.action(
    RELEASE_PAGE_ROUTES.takeDownNow,
    { needs: CHANGES, form: TakedownForm },
    async (c, { params: name, form: { reason = '', refuse, confirmed } }, { token }) => {
      const caller = describeCaller(c, token);
      const runtimes = refuse === undefined ? undefined : 'refuse';
      const request = { reason: reason.trim(), runtimes, ...caller } as const;
      const preview = await takeDownRelease(deps, name, { ...request, dryRun: true });
      const problems: TakedownPageData['problems'] = defined({
        reason: request.reason === '' ? { message: 'enter a reason' } : undefined,
        // More releases can have the same bytes since the page was shown.
        confirmed:
          confirmed === String(preview.takedowns.length)
            ? undefined
            : { message: 'confirm that everything above is deleted' },
      });
      if (Object.keys(problems).length > 0) {
        return takedownPage(name, { reason, refuses: runtimes !== undefined, problems }, caller);
      }
      await takeDownRelease(deps, name, { ...request, dryRun: false });
      const gone = `${name.group}/${name.kind}@${name.release}`;
      return c.redirect(site.at(`${RELEASES}?${new URLSearchParams({ gone })}`), 303);
    },
  );
}
