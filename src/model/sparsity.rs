//! Sparsity patterns that are fixed by the tree: inertia, tendon Jacobian, actuator moment.

use super::{Model, TrnType, WrapType};

impl Model {
    /// Computes the patterns of `qM`, `ten_J` and `actuator_moment` from the tree and the transmissions.
    ///
    /// The loader calls it once the arrays of bodies, joints, tendons and actuators are complete.
    pub fn build_sparsity(&mut self) {
        self.build_inertia_sparsity();
        self.build_tendon_sparsity();
        self.build_moment_sparsity();
    }

    /// Row i of M holds the degrees of freedom from the root down to i. Simple bodies (a diagonal inertia
    /// by construction) keep the diagonal only.
    fn build_inertia_sparsity(&mut self) {
        let (mut rowadr, mut rownnz, mut colind) = (vec![], vec![], vec![]);
        let mut subnum = vec![0; self.nv];
        for i in 0..self.nv {
            let start = colind.len();
            if self.dof_simplenum[i] > 0 {
                colind.push(i);
            } else {
                colind.extend(self.dofs_to_root(i));
                colind[start..].reverse();
            }
            rowadr.push(start);
            rownnz.push(colind.len() - start);
            let row = &colind[start..];
            for &ancestor in &row[..row.len() - 1] {
                subnum[ancestor] += 1;
                // depth first: a subtree is a range
                debug_assert_eq!(ancestor + subnum[ancestor], i);
            }
        }
        self.nM = colind.len();
        self.M_rowadr = rowadr;
        self.M_rownnz = rownnz;
        self.M_colind = colind;
        self.M_subnum = subnum;
    }

    /// A fixed tendon depends on the degrees of freedom of its joints.
    fn build_tendon_sparsity(&mut self) {
        let (mut rowadr, mut rownnz, mut colind) = (vec![], vec![], vec![]);
        for t in 0..self.ntendon {
            let path = self.tendon_adr[t]..self.tendon_adr[t] + self.tendon_num[t];
            let joints = path.filter(|&w| self.wrap_type[w] == WrapType::Joint);
            let row = joints.filter_map(|w| self.wrap_objid[w]).map(|j| self.jnt_dofadr[j]);
            push_row(row.collect(), &mut rowadr, &mut rownnz, &mut colind);
        }
        self.ten_J_rowadr = rowadr;
        self.ten_J_rownnz = rownnz;
        self.ten_J_colind = colind;
    }

    fn build_moment_sparsity(&mut self) {
        let (mut rowadr, mut rownnz, mut colind) = (vec![], vec![], vec![]);
        for a in 0..self.nactuator {
            push_row(self.moment_columns(a), &mut rowadr, &mut rownnz, &mut colind);
        }
        self.moment_rowadr = rowadr;
        self.moment_rownnz = rownnz;
        self.moment_colind = colind;
    }

    /// Degrees of freedom that an actuator can act on.
    fn moment_columns(&self, a: usize) -> Vec<usize> {
        let [Some(id), refsite] = self.actuator_trnid[a] else { return vec![] };
        match self.actuator_trntype[a] {
            TrnType::Joint | TrnType::JointInParent => {
                let adr = self.jnt_dofadr[id];
                (adr..adr + self.jnt_type[id].nv()).collect()
            }
            TrnType::Tendon => {
                let adr = self.ten_J_rowadr[id];
                self.ten_J_colind[adr..adr + self.ten_J_rownnz[id]].to_vec()
            }
            TrnType::Site => {
                let site_dofs = |s: usize| self.body_dofs_to_root(self.site_bodyid[s]);
                let mut dofs: Vec<usize> = site_dofs(id).collect();
                if let Some(r) = refsite {
                    // degrees of freedom that move both sites do not change their relative pose
                    let reference: Vec<usize> = site_dofs(r).collect();
                    let common = |i: &usize| dofs.contains(i) && reference.contains(i);
                    let all = dofs.iter().chain(&reference);
                    dofs = all.filter(|i| !common(i)).copied().collect();
                }
                dofs
            }
            // whatever the body touches
            TrnType::Body => (0..self.nv).collect(),
            TrnType::SliderCrank | TrnType::So3 => vec![],
        }
    }
}

fn push_row(
    mut row: Vec<usize>,
    rowadr: &mut Vec<usize>,
    rownnz: &mut Vec<usize>,
    colind: &mut Vec<usize>,
) {
    row.sort_unstable();
    row.dedup();
    rowadr.push(colind.len());
    rownnz.push(row.len());
    colind.append(&mut row);
}
