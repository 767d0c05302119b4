import { describe, expect, it } from 'vitest';

import { detectLanguage } from '#modules/translation/languages/detection';

describe('detectLanguage', () => {
  it.each([
    ['en', 'The big meeting room on the ground floor'],
    ['de', 'Der große Besprechungsraum im Erdgeschoss'],
    ['fr', 'La grande salle de réunion au rez-de-chaussée'],
    ['es', 'La sala de reuniones grande en la planta baja'],
    ['ru', 'Большой конференц-зал на первом этаже здания'],
    ['de', '<p class="english words here">Der große {{room}} im Erdgeschoss</p> https://example.com/in/english'],
  ])('%s: %s', async (language, text) => {
    expect(await detectLanguage(text)).toBe(language);
  });

  it.each(['', 'Hall', 'A 101', '12345 67890 12345 67890', 'QX-77 / BR-9 (2)', '<div class="only markup here"></div>'])(
    'nothing of %j',
    async (text) => {
      expect(await detectLanguage(text)).toBeUndefined();
    },
  );
});
