import type { Samples } from '#test/support/samples';

export const samples: Samples = {
  tools: () => ({
    searchPlaces: () => Promise.resolve({ q: 'Stephansplatz 3 & Wien', limit: 2, language: 'de' }),
    findPlaceAt: () => Promise.resolve({ lat: 48.2085, lng: 16.373, language: 'de' }),
  }),
};
