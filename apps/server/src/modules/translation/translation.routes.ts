import { access } from '#core/base/access/access';
import { defineRoute } from '#core/http/route';
import {
  NoProvider,
  OperationDisabled,
  ProvidersFailed,
  ProvidersRefused,
  QuotaExceeded,
} from '#modules/connectors/index';
import { translateEntity } from '#modules/translation/entities/entity.service';
import { listTranslationMarks } from '#modules/translation/entities/marks.service';
import { translateFor } from '#modules/translation/scope';
import { translateI18n } from '#modules/translation/texts/i18n.service';
import { translateText } from '#modules/translation/texts/texts.service';
import * as errors from '#modules/translation/translation.errors';
import * as schemas from '#modules/translation/translation.schemas';

const collection = '/api/v1/secure/ai/translate';

const outside = [
  OperationDisabled,
  ProvidersRefused,
  errors.TooManyTranslations,
  QuotaExceeded,
  ProvidersFailed,
  NoProvider,
];

export const translationRoutes = [
  defineRoute({
    method: 'POST',
    path: `${collection}/text`,
    operationId: 'translateText',
    summary: 'Translate a text',
    access: access.member(),
    schema: { body: schemas.TranslateTextBody, response: { 200: schemas.TextAnswer } },
    errors: [errors.UnknownLanguage, ...outside],
    audit: { none: 'stores only a translation for reuse' },
    takesLong: true,
    tool: {
      toolset: 'translation',
      description: 'Translate a text through an outside provider, at the cost of the tenant.',
      destructive: false,
      idempotent: true,
      openWorld: true,
    },
    handler: ({ body, ...request }) => translateFor(request, 'translation.text', (scope) => translateText(scope, body)),
  }),
  defineRoute({
    method: 'POST',
    path: `${collection}/i18n`,
    operationId: 'translateI18n',
    summary: 'Translate a name and a description into several languages without storing them',
    access: access.member(),
    schema: { body: schemas.TranslateI18nBody, response: { 200: schemas.I18nAnswer } },
    errors: [errors.UnknownLanguage, errors.LanguageNotDetected, errors.NothingToTranslate, ...outside],
    audit: { none: 'stores only translations for reuse' },
    takesLong: true,
    handler: ({ body, ...request }) => translateFor(request, 'translation.i18n', (scope) => translateI18n(scope, body)),
  }),
  defineRoute({
    method: 'POST',
    path: `${collection}/entity`,
    operationId: 'translateEntity',
    summary: 'Translate a space, resource, tag or category and store the result; needs permission to update it',
    access: access.member('spaces.write', 'resources.write'),
    schema: {
      body: schemas.TranslateEntityBody,
      query: schemas.ProtectionQuery,
      response: { 200: schemas.EntityAnswer },
    },
    errors: [
      errors.EntityNotFound,
      errors.UnknownLanguage,
      errors.LanguageNotDetected,
      errors.NothingToTranslate,
      ...outside,
    ],
    audit: 'translation.entity_translated',
    takesLong: true,
    tool: {
      toolset: 'translation',
      description:
        'Translate name and description of a space, resource, tag or category through an outside provider and store the result. It replaces texts written by users unless `protect_human` is true.',
      destructive: true,
      idempotent: true,
      openWorld: true,
    },
    handler: ({ body, query, ...request }) =>
      translateFor(request, 'translation.entity', (scope) =>
        translateEntity({ ...scope, actor: request.actor }, body, { protectsHuman: query.protect_human ?? false }),
      ),
  }),
  defineRoute({
    method: 'GET',
    path: `${collection}/marks`,
    operationId: 'listTranslationMarks',
    summary: 'List translated texts with their origin (human or machine) and whether the source has changed since',
    access: access.member(),
    schema: { query: schemas.ListMarksQuery, response: { 200: schemas.MarkPage } },
    tool: {
      toolset: 'translation',
      description:
        'List translated texts with their origin (human or machine) and whether the source has changed since.',
    },
    handler: ({ db, query, setHeader }) => listTranslationMarks({ db, setHeader }, query),
  }),
];
