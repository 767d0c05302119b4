import { expect, it } from 'vitest';

import { findAdapter } from '#modules/connectors/adapters';
import { kinds } from '#modules/connectors/explanation/kinds';
import type { Describing } from '#modules/connectors/kind';

const categories = ['app_service', 'system_sync', 'communication', 'integration'] as const;
const names = ['webhook', 'smtp', 'twilio', 'whatsapp-cloud', 'openai', 'libretranslate', 'deepl', 'apertium'];
const others = ['modelhub', 'nominatim', 'house', 'toString', '__proto__', undefined];

const served = (row: Describing) => Object.values(kinds).filter((serves) => serves(row)).length;

it.each(categories)(
  'a connector of category %s has an adapter exactly if an operation uses the category',
  (category) => {
    const adapted = [...names, ...others].flatMap((adapter) =>
      [...names, ...others].map((key = 'own') => {
        const row = { api_key: key, category, config: adapter === undefined ? {} : { adapter } };
        const hasAdapter = findAdapter({ key, category, config: row.config }) !== undefined;
        expect([adapter, key, served(row) > 0]).toEqual([adapter, key, hasAdapter]);
        return hasAdapter;
      }),
    );
    expect(new Set(adapted)).toEqual(new Set([true, false]));
  },
);
