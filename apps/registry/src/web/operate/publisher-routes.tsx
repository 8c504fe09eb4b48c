import { createRoute, z } from '@hono/zod-openapi';
import { AddPublisherRequest } from '@krmhub/api/model';
import { TokenId } from '@krmhub/api/parameters';
import { can, tokenActor } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { callerOf } from '../../http/auth/caller.js';
import type { ExchangeDeps } from '../../trusted-publishers/exchange-token.js';
import {
  type AddingDeps,
  addPublisher,
  canChangePublishers,
  removePublisher,
} from '../../trusted-publishers/manage-publishers.js';
import { OPERATE_PUBLISHERS, publishersPath } from '../addresses.js';
import type { Site } from '../site.js';
import type { FieldProblems } from './field.js';
import { type Operator, ownsGroups } from './operator.js';
import type { OperatorPages } from './operator-pages.js';
import { PageNumber } from './page-number.js';
import { paged } from './paged.js';
import type { PrivatePage } from './private-response.js';
import { type PublisherField, type PublisherInput, PublishersPage } from './publishers-page.js';

export const PUBLISHER_PAGE_ROUTES = {
  publishersPage: createRoute({
    method: 'get',
    path: OPERATE_PUBLISHERS,
    request: {
      query: z.object({
        page: PageNumber,
        added: TokenId.optional(),
        removed: z.literal('true', 'is not true').optional(),
      }),
    },
    responses: { 200: { description: 'The workflows that may publish, and a form for another one' } },
  }),
  addPublisherForm: createRoute({
    method: 'post',
    path: OPERATE_PUBLISHERS,
    responses: { 303: { description: 'Added' } },
  }),
  removePublisherForm: createRoute({
    method: 'post',
    path: `${OPERATE_PUBLISHERS}/{id}/remove`,
    request: { params: z.object({ id: TokenId }) },
    responses: { 303: { description: 'Removed' } },
  }),
} as const;

const text = z.string('is missing').default('');
const PublisherForm = z.object({
  target: z.string('is missing'),
  provider: z.string('is missing'),
  settings: text,
  pins: text,
  issuer: text,
  keys: text,
});

const EMPTY: PublisherInput = {
  target: '',
  provider: 'github',
  settings: '',
  pins: '',
  issuer: '',
  keys: '',
};

export type PublisherPageDeps = ExchangeDeps & AddingDeps & { site: Site };

/** The page of trusted publishers, by the rules of the HTTP API. Each user sees those of the groups that they own. */
export function publisherPageRoutes(deps: PublisherPageDeps, pages: OperatorPages): void {
  const { store, site } = deps;

  const page = async (
    operator: Operator,
    given: { typed?: PublisherInput; problems?: FieldProblems<PublisherField>; page?: number } & {
      added?: string | undefined;
      removed?: 'true' | undefined;
    },
  ): Promise<PrivatePage> => {
    const { rules, token } = operator;
    const { typed = EMPTY, problems = {}, added, removed } = given;
    const actor = tokenActor(rules, token);
    const publishers = (await store.trustedPublishers()).filter(
      ({ group }) => can(rules, actor, 'own', { group }).allowed,
    );
    const shown = { publishers: paged(publishers, given.page ?? 1), typed, problems, now: deps.clock() };
    const news = {
      isRemoved: removed === 'true',
      canChange: canChangePublishers(deps.access.rules, operator.token),
      isOwner: publishers.length > 0 || ownsGroups(operator),
      hasPublicUrl: deps.config.publicUrl !== undefined,
      ...defined({ added: publishers.find(({ id }) => id === added) }),
    };
    return {
      head: { title: 'Trusted publishers', path: OPERATE_PUBLISHERS },
      body: <PublishersPage shown={{ ...shown, ...news }} />,
      ...defined({ status: Object.keys(problems).length === 0 ? undefined : 400 }),
    };
  };

  pages.page(PUBLISHER_PAGE_ROUTES.publishersPage, {}, async (_, { query }, operator) =>
    page(operator, query),
  );

  pages.action(
    PUBLISHER_PAGE_ROUTES.addPublisherForm,
    { form: PublisherForm },
    async (c, { form }, operator) => {
      const { token } = operator;
      const wanted = wantedPublisher(form);
      if ('problems' in wanted) return page(operator, { typed: form, problems: wanted.problems });
      try {
        const { id } = await addPublisher(deps, wanted, token, callerOf(c, token).origin);
        return c.redirect(site.at(publishersPath({ added: id })), 303);
      } catch (error) {
        if (!(error instanceof KrmhubError) || error.code === 'forbidden') throw error;
        const { message, hint, code } = error;
        const field = code === 'invalid-request' ? 'settings' : 'target';
        return page(operator, { typed: form, problems: { [field]: { message, hint } } });
      }
    },
  );

  pages.action(
    PUBLISHER_PAGE_ROUTES.removePublisherForm,
    { form: z.object({}) },
    async (c, { params: { id } }, { token }) => {
      await removePublisher(deps, id, token, callerOf(c, token).origin);
      return c.redirect(site.at(publishersPath({ hasRemoved: true })), 303);
    },
  );
}

type Wanted = z.output<typeof AddPublisherRequest>;

/** Returns the request to the HTTP API, or what is wrong with each field. */
function wantedPublisher(typed: PublisherInput): Wanted | { problems: FieldProblems<PublisherField> } {
  const [group, kind] = typed.target.trim().split(/\/(.*)/s);
  const issuer = typed.issuer.trim() || undefined;
  const keys = typed.keys.trim() || undefined;
  const [settings, pins] = [pairs(typed.settings), pairs(typed.pins)];
  const problems: FieldProblems<PublisherField> = {};
  if (settings === undefined) problems.settings = { message: ONE_A_LINE };
  if (pins === undefined) problems.pins = { message: ONE_A_LINE };
  const hasPins = pins !== undefined && Object.keys(pins).length > 0;
  const result = AddPublisherRequest.safeParse({
    ...{ group, provider: typed.provider, settings: settings ?? {} },
    ...defined({ kind, issuer, keys, pins: hasPins ? pins : undefined }),
  });
  if (result.success && Object.keys(problems).length === 0) return result.data;
  for (const { path, message } of result.error?.issues ?? []) {
    const [name] = path;
    const field = name === 'group' || name === 'kind' ? 'target' : (name as PublisherField);
    problems[field] ??= { message: field === 'target' ? 'enter GROUP, or GROUP/KIND' : message };
  }
  return { problems };
}

const ONE_A_LINE = 'enter one NAME=VALUE on each line';

/** Reads `NAME=VALUE` on each line; undefined for other text. */
function pairs(given: string): Record<string, string> | undefined {
  const found: Record<string, string> = {};
  for (const line of given.split('\n').map((one) => one.trim())) {
    if (line === '') continue;
    const equals = line.indexOf('=');
    const name = line.slice(0, equals).trim();
    if (equals < 1 || Object.hasOwn(found, name)) return undefined;
    found[name] = line.slice(equals + 1).trim();
  }
  return found;
}
