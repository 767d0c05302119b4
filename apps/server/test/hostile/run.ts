import { measureProviderAnswers } from './provider-answers.ts';
import { measureSchemas } from './schemas.ts';

// For the benchmark, which starts it as a process: one line of JSON.
process.stdout.write(`${JSON.stringify([...(await measureSchemas()), ...(await measureProviderAnswers())])}\n`);
