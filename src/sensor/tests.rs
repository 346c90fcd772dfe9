//! Against MuJoCo 4.0.1.
