import type { Names } from './names.ts';
import { recordFiles } from './records.ts';

/** The files of a module that creates, gets and lists one kind of record, by their path below the module. */
export function moduleFiles(names: Names): Record<string, string> {
  const { kebab } = names;
  return {
    'index.ts': index(names),
    ...recordFiles(names, kebab),
    'testing/samples.ts': samples(names),
  };
}

const index = ({ kebab, camel, camels, words }: Names) => `import { defineModule } from '#core/http/route';
import { ${camel}Routes } from '#modules/${kebab}/${kebab}.routes';

/** Records of the kind "${words}". */
export const ${camels}Module = defineModule({
  name: '${kebab}',
  description: 'Create, get and list records of the kind "${words}"',
  routes: ${camel}Routes,
});
`;

const samples = ({ kebab, camel, pascal, snake }: Names) => `import type { Samples } from '#test/support/samples';

const path = '/api/v1/secure/${kebab}';

export const samples: Samples = {
  bodies: { create${pascal}: () => ({ name: 'Sample' }) },
  ids: { 'get${pascal} params.id': '${camel}' },
  records: async ({ create, secret }) => ({ ${camel}: await create(path, { name: secret }) }),
  successes: () => ({
    create${pascal}: () =>
      Promise.resolve({ method: 'POST', url: path, status: 201, body: { name: 'canary' }, resourceType: '${snake}' }),
  }),
};
`;
